//! Ways in which a conversion once lost something, or invented it, on a real API server: numbers that Go respells,
//! objects that were removed, defaults, values that came back.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::sample::{PARCEL, Sample};
use crate::support::scene::{JSON, Scene};
use crate::support::side_by_side::{A, SideBySide};

pub(crate) static PARCELS: [&Sample; 1] = [&PARCEL];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("respelled_numbers_round_trip", respelled).of(&PARCELS).newest(),
    Scenario::new("undecodable_numbers_fail_no_list", unreadable).of(&PARCELS).newest(),
    Scenario::new("removed_objects_stay_removed", removed).of(&PARCELS).newest(),
    Scenario::new("nested_defaults_cause_no_write", defaults_inside).of(&PARCELS).newest(),
    Scenario::new("default_creates_no_optional_object", optional_object).of(&PARCELS).newest(),
    Scenario::new("annotations_do_not_accumulate", by_hand).of(&PARCELS).newest(),
    Scenario::new("broken_guard_drops_kept_values", stale).of(&PARCELS).newest(),
];

/// Something that must hold whichever version is stored.
fn with_either_stored(scene: &Scene<'_>, holds: fn(&Scene<'_>, &str)) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    holds(scene, "stored-new");
    scene.store(old);
    holds(scene, "stored-old");
}

/// An object of this spec and its image.
fn create(scene: &Scene<'_>, version: &str, name: &str, mut spec: Value) -> Value {
    spec["image"] = json!("i");
    scene.create(version, &scene.with_spec(version, name, spec)).ok()
}

/// Reads an object and writes back the very text.
fn write_nothing(scene: &Scene<'_>, version: &str, name: &str) -> Answer {
    let read = scene.get(version, name);
    scene.call(Method::PUT, &scene.one(version, name), Some((JSON, read.text)))
}

/// Whoever reads and writes it back at the other version changes nothing at home.
#[track_caller]
fn quiet(scene: &Scene<'_>, home: &str, other: &str, name: &str) {
    let before = scene.get(home, name).ok();
    write_nothing(scene, other, name).ok();
    let after = scene.get(home, name).ok();
    assert_eq!(after["spec"], before["spec"], "{name} after a write of nothing at {other}");
    assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"], "{name} after it");
}

fn respelled(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, stored| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        let texts =
            ["1.10", "1.0", "1e3", "18446744073709551615", "9007199254740993", "-0", "0.1e-7", "1E400", "", "x"];
        for (at, text) in texts.into_iter().enumerate() {
            let name = format!("{stored}-{at}");
            create(scene, new, &name, json!({"ratio": text}));
            quiet(scene, new, old, &name);
            assert_eq!(scene.get(new, &name).ok()["spec"]["ratio"], text);
        }
    });
}

fn unreadable(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, stored| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        let texts = [format!("1{}", "0".repeat(309)), "1E400".to_owned(), "-1e309".to_owned(), "80".to_owned()];
        for (at, text) in texts.iter().enumerate() {
            create(scene, old, &format!("{stored}-{at}"), json!({"port": text}));
        }
        for version in [new, old] {
            // Of all namespaces: who may create in one of them must not be able to fail this.
            scene.call_get(&format!("/apis/{}/{version}/{}", scene.group, scene.sample.plural));
        }
        for (at, text) in texts.iter().enumerate() {
            let name = format!("{stored}-{at}");
            quiet(scene, old, new, &name);
            assert_eq!(scene.get(old, &name).ok()["spec"]["port"], **text);
        }
    });
}

fn removed(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, name| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        create(scene, old, name, json!({"backup": {"size": 1, "legacy": "y"}, "note": "n"}));
        let mut seen = scene.get(new, name).ok();
        assert_eq!(seen["spec"]["backup"], json!({"size": 1}));
        seen["spec"].as_object_mut().unwrap().remove("backup");
        scene.update(new, name, &seen).ok();
        let home = scene.get(old, name).ok();
        assert_eq!(home["spec"].get("backup"), None);
        assert_eq!(home["spec"]["note"], "n", "what hung on nothing that was removed");
    });
}

fn defaults_inside(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, name| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        create(scene, new, name, json!({}));
        quiet(scene, new, old, name);
        assert_eq!(scene.get(old, name).ok()["spec"]["tuning"], json!({"level": 3}));
        assert_eq!(scene.get(new, name).ok()["metadata"].get("annotations"), None);
    });
}

fn optional_object(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, stored| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        for (at, spec) in [json!({}), json!({"limits": {}}), json!({"limits": {"cpu": "1"}})].into_iter().enumerate() {
            let name = format!("{stored}-{at}");
            create(scene, new, &name, spec.clone());
            quiet(scene, new, old, &name);
            assert_eq!(scene.get(new, &name).ok()["spec"].get("limits"), spec.get("limits"), "{name}");
        }
    });
}

/// A tool reads at the old version, sets `apiVersion` to the new one, and writes.
fn by_hand(scene: &Scene<'_>) {
    with_either_stored(scene, |scene, name| {
        let (old, new) = (scene.sample.old, scene.sample.new);
        create(scene, new, name, json!({"extra": "\\\"e\"", "limits": {"cpu": "1"}}));
        for round in 0..16 {
            let mut seen = scene.get(old, name).ok();
            seen["apiVersion"] = json!(format!("{}/{new}", scene.group));
            seen["spec"]["extra"] = json!(format!("e{round}"));
            scene.update(new, name, &seen).ok();
            let size = scene.get(old, name).ok()["metadata"]["annotations"].to_string().len();
            assert!(size < 1000, "{size} bytes after {round} rounds");
        }
        scene.list(old).ok();
        scene.list(new).ok();
    });
}

/// While `/mutate` looks on: what a kept value hung on is changed, and changed back.
fn stale(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.enable(new);
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("deny");
    let routes = json!([{"name": "a", "weight": 1, "comment": "of a"}, {"name": "b", "comment": "of b"}]);
    create(scene, old, "a", json!({"policy": "forever", "routes": routes}));
    assert_eq!(scene.get(old, "a").ok()["spec"]["policy"], "forever");
    for policy in ["Always", "Never", "Always"] {
        scene.patch(new, "a", &json!({"spec": {"policy": policy}})).ok();
    }
    for routes in [json!([{"name": "b"}]), json!([{"name": "a", "weight": 1}, {"name": "b"}])] {
        let mut seen = scene.get(new, "a").ok();
        seen["spec"]["routes"] = routes;
        scene.update(new, "a", &seen).ok();
    }
    let home = scene.get(old, "a").ok();
    assert_eq!(home["spec"]["policy"], "always", "what it was before somebody said Never");
    let expected = json!([{"name": "a", "weight": 1}, {"name": "b", "comment": "of b"}]);
    assert_eq!(home["spec"]["routes"], expected, "the comment of an item that was removed");
    scene.keep(servers.servers);
}
