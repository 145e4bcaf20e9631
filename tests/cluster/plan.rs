//! `pointsman plan`: what would become of the objects that are there, asked of a cluster.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::scene::Scene;

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new("plan_reads_all_writes_nothing", every_object)];

fn every_object(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let unknown = scene.refused(&["plan", &scene.crd_name()]);
    assert!(unknown.contains(&format!("there is no CRD {}", scene.crd_name())), "{unknown}");
    scene.enable(old);
    let names = ["a", "b", "c"];
    for name in names {
        scene.create(old, &scene.object(old, name)).ok();
    }
    let before = names.map(|name| scene.bed.etcd.writes(&scene.key(name)));
    let (code, report) = plan(scene, &[]);
    assert_eq!(code, 0, "{report}");
    assert_eq!((&report["objects"], &report["counts"]["lost"]), (&json!(3), &json!(0)), "{report}");
    let items = report["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["version"] == old), "as they are stored: {report}");
    assert!(items.iter().all(|item| item["findings"].as_array().unwrap().is_empty()), "{report}");
    assert_eq!(names.map(|name| scene.bed.etcd.writes(&scene.key(name))), before, "nothing is written");
    assert_eq!(plan(scene, &["--to", new]).1["coldCache"]["conversions"], 3);
}

/// Exit code, and the report.
fn plan(scene: &Scene<'_>, more: &[&str]) -> (i32, Value) {
    let (code, text, errors) = scene.command(&[&["plan", &scene.crd_name(), "-o", "json"], more].concat());
    (code, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{errors}")))
}
