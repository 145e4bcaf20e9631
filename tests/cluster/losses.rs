//! Former defects of conversions with data loss or invented data, on a real API server. Causes: numbers that Go
//! reformats, removed objects, defaults, and values that were restored wrongly.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{JSON, TestContext};
use crate::support::sample::{PARCEL, Sample};
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

/// Runs a check with each storage version.
fn with_either_stored(ctx: &TestContext<'_>, holds: fn(&TestContext<'_>, &str)) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    holds(ctx, "stored-new");
    ctx.store(old);
    holds(ctx, "stored-old");
}

/// Creates an object with this spec and an image.
fn create(ctx: &TestContext<'_>, version: &str, name: &str, mut spec: Value) -> Value {
    spec["image"] = json!("i");
    ctx.create(version, &ctx.with_spec(version, name, spec)).ok()
}

/// Reads an object and writes the same text back.
fn write_nothing(ctx: &TestContext<'_>, version: &str, name: &str) -> Answer {
    let read = ctx.get(version, name);
    ctx.call(Method::PUT, &ctx.one(version, name), Some((JSON, read.text)))
}

/// A read and an unchanged write at the other version change nothing at the home version.
#[track_caller]
fn quiet(ctx: &TestContext<'_>, home: &str, other: &str, name: &str) {
    let before = ctx.get(home, name).ok();
    write_nothing(ctx, other, name).ok();
    let after = ctx.get(home, name).ok();
    assert_eq!(after["spec"], before["spec"], "{name} after a write of nothing at {other}");
    assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"], "{name} after it");
}

fn respelled(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, stored| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        let texts =
            ["1.10", "1.0", "1e3", "18446744073709551615", "9007199254740993", "-0", "0.1e-7", "1E400", "", "x"];
        for (at, text) in texts.into_iter().enumerate() {
            let name = format!("{stored}-{at}");
            create(ctx, new, &name, json!({"ratio": text}));
            quiet(ctx, new, old, &name);
            assert_eq!(ctx.get(new, &name).ok()["spec"]["ratio"], text);
        }
    });
}

fn unreadable(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, stored| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        let texts = [format!("1{}", "0".repeat(309)), "1E400".to_owned(), "-1e309".to_owned(), "80".to_owned()];
        for (at, text) in texts.iter().enumerate() {
            create(ctx, old, &format!("{stored}-{at}"), json!({"port": text}));
        }
        for version in [new, old] {
            // Over all namespaces: a user with access to a single namespace must not be able to fail this list.
            ctx.call_get(&format!("/apis/{}/{version}/{}", ctx.group, ctx.sample.plural));
        }
        for (at, text) in texts.iter().enumerate() {
            let name = format!("{stored}-{at}");
            quiet(ctx, old, new, &name);
            assert_eq!(ctx.get(old, &name).ok()["spec"]["port"], **text);
        }
    });
}

fn removed(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, name| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        create(ctx, old, name, json!({"backup": {"size": 1, "legacy": "y"}, "note": "n"}));
        let mut seen = ctx.get(new, name).ok();
        assert_eq!(seen["spec"]["backup"], json!({"size": 1}));
        seen["spec"].as_object_mut().unwrap().remove("backup");
        ctx.update(new, name, &seen).ok();
        let home = ctx.get(old, name).ok();
        assert_eq!(home["spec"].get("backup"), None);
        assert_eq!(home["spec"]["note"], "n", "a value that depends on no removed field");
    });
}

fn defaults_inside(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, name| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        create(ctx, new, name, json!({}));
        quiet(ctx, new, old, name);
        assert_eq!(ctx.get(old, name).ok()["spec"]["tuning"], json!({"level": 3}));
        assert_eq!(ctx.get(new, name).ok()["metadata"].get("annotations"), None);
    });
}

fn optional_object(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, stored| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        for (at, spec) in [json!({}), json!({"limits": {}}), json!({"limits": {"cpu": "1"}})].into_iter().enumerate() {
            let name = format!("{stored}-{at}");
            create(ctx, new, &name, spec.clone());
            quiet(ctx, new, old, &name);
            assert_eq!(ctx.get(new, &name).ok()["spec"].get("limits"), spec.get("limits"), "{name}");
        }
    });
}

/// A tool reads at the old version, sets `apiVersion` to the new one, and writes.
fn by_hand(ctx: &TestContext<'_>) {
    with_either_stored(ctx, |ctx, name| {
        let (old, new) = (ctx.sample.old, ctx.sample.new);
        create(ctx, new, name, json!({"extra": "\\\"e\"", "limits": {"cpu": "1"}}));
        for round in 0..16 {
            let mut seen = ctx.get(old, name).ok();
            seen["apiVersion"] = json!(format!("{}/{new}", ctx.group));
            seen["spec"]["extra"] = json!(format!("e{round}"));
            ctx.update(new, name, &seen).ok();
            let size = ctx.get(old, name).ok()["metadata"]["annotations"].to_string().len();
            assert!(size < 1000, "{size} bytes after {round} rounds");
        }
        ctx.list(old).ok();
        ctx.list(new).ok();
    });
}

/// With `/mutate`: the value that a kept value depends on is changed, and changed back.
fn stale(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(new);
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    let routes = json!([{"name": "a", "weight": 1, "comment": "of a"}, {"name": "b", "comment": "of b"}]);
    create(ctx, old, "a", json!({"policy": "forever", "routes": routes}));
    assert_eq!(ctx.get(old, "a").ok()["spec"]["policy"], "forever");
    for policy in ["Always", "Never", "Always"] {
        ctx.patch(new, "a", &json!({"spec": {"policy": policy}})).ok();
    }
    for routes in [json!([{"name": "b"}]), json!([{"name": "a", "weight": 1}, {"name": "b"}])] {
        let mut seen = ctx.get(new, "a").ok();
        seen["spec"]["routes"] = routes;
        ctx.update(new, "a", &seen).ok();
    }
    let home = ctx.get(old, "a").ok();
    assert_eq!(home["spec"]["policy"], "always", "the value before the edit");
    let expected = json!([{"name": "a", "weight": 1}, {"name": "b", "comment": "of b"}]);
    assert_eq!(home["spec"]["routes"], expected, "the comment of an item that was removed");
    ctx.keep(servers.servers);
}
