//! `pointsman plan`: the predicted conversions of the existing objects in a cluster.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new("plan_reads_all_writes_nothing", every_object)];

fn every_object(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let unknown = ctx.refused(&["plan", &ctx.crd_name()]);
    assert!(unknown.contains(&format!("CRD {} does not exist", ctx.crd_name())), "{unknown}");
    ctx.enable(old);
    let names = ["a", "b", "c"];
    for name in names {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let before = names.map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name)));
    let (code, report) = plan(ctx, &[]);
    assert_eq!(code, 0, "{report}");
    assert_eq!((&report["objects"], &report["counts"]["lost"]), (&json!(3), &json!(0)), "{report}");
    let items = report["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["version"] == old), "as they are stored: {report}");
    assert!(items.iter().all(|item| item["findings"].as_array().unwrap().is_empty()), "{report}");
    assert_eq!(names.map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name))), before, "nothing is written");
    assert_eq!(plan(ctx, &["--to", new]).1["coldCache"]["conversions"], 3);
}

/// Exit code, and the report.
fn plan(ctx: &TestContext<'_>, more: &[&str]) -> (i32, Value) {
    let (code, text, errors) = ctx.command(&[&["plan", &ctx.crd_name(), "-o", "json"], more].concat());
    (code, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{errors}")))
}
