//! Objects that a rollout holds until their turn, and early requests for the new version: on the real API server.

use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::TestContext;
use crate::support::process::eventually;
use crate::support::proxy::{Fate, Proxy};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, SideBySide, UNKNOWN};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("held_object_moves_in_order", held).of(&ENGINES).newest(),
    Scenario::new("aborted_rollout_releases_holds", stopped).of(&ENGINES).newest(),
    Scenario::new("deleted_rollout_hold_is_taken_over", deleted).of(&ENGINES).newest(),
    Scenario::new("unenforced_hold_is_reported", unregistered).of(&ENGINES).newest(),
    Scenario::new("new_object_is_held", created).of(&ENGINES).newest(),
    Scenario::new("held_fleet_needs_two_writes", many).of(&ENGINES).newest(),
];

const HELD: &str = "pointsman.dev/hold";
const WANTED: &str = "pointsman.dev/wanted-version";

/// A fleet of five held objects, after a completed canary.
fn begins<'a>(ctx: &'a TestContext<'a>) -> SideBySide<'a> {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..6).map(|at| format!("e-{at}")).collect();
    ctx.engines(&names, Some(A));
    ctx.patch(ctx.sample.new, "e-0", &json!({"metadata": {"labels": {"rollout": "canary"}}})).ok();
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let canary =
        json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1, "after": "approval"});
    ctx.starts_rollout(&json!({"hold": true, "waves": [canary, {"name": "rest", "maxInFlight": 2}]}));
    servers
}

fn one(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.get(ctx.sample.new, name).ok()
}

fn label(ctx: &TestContext<'_>, name: &str) -> Value {
    one(ctx, name)["metadata"]["labels"][ctx.label_key()].clone()
}

fn note(ctx: &TestContext<'_>, name: &str, key: &str) -> Value {
    one(ctx, name)["metadata"]["annotations"][key].clone()
}

fn version(ctx: &TestContext<'_>, name: &str) -> Value {
    one(ctx, name)["metadata"]["resourceVersion"].clone()
}

/// The owners of the version label, with the operation.
fn owners(ctx: &TestContext<'_>, name: &str) -> Vec<String> {
    let label = format!("f:{}", ctx.label_key());
    let object = one(ctx, name);
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    let owns = |entry: &&Value| !entry["fieldsV1"]["f:metadata"]["f:labels"][&label].is_null();
    let owners = entries.filter(owns);
    owners.map(|one| format!("{} {}", one["manager"].as_str().unwrap(), one["operation"].as_str().unwrap())).collect()
}

/// Checks that the object keeps its version and the request is recorded.
#[track_caller]
fn stays(ctx: &TestContext<'_>, name: &str, answer: &Answer, wanted: &str) {
    assert!(answer.is_ok(), "{}", answer.message());
    let warned = answer.warnings.concat();
    assert!(
        warned.contains(&format!("stays \"{A}\": rollout {} holds this object until its turn", ctx.ns)),
        "{warned}"
    );
    assert_eq!((label(ctx, name), note(ctx, name, WANTED)), (json!(A), json!(wanted)), "{name}");
    assert!(note(ctx, name, HELD).as_str().is_some_and(|text| text.contains(&ctx.ns)), "{name}");
}

fn held(ctx: &TestContext<'_>) {
    let servers = begins(ctx);
    let controllers = Controllers::start(ctx, |_, _| Some(true));
    let new = ctx.sample.new;
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("canary 1/1, waiting for approval");
    assert_eq!((label(ctx, "e-0"), note(ctx, "e-0", HELD)), (json!(B), Value::Null), "its turn is over");
    let manifest = ctx.labelled(new, "e-2", Some(B));
    // By then the controllers have processed all objects and stop writing.
    std::thread::sleep(Duration::from_secs(3));
    everybody_asks(ctx, &manifest);
    ctx.does(&["approve", "canary"]);
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    // The controllers may still process the last moved object; below, only Git may write.
    drop(controllers);
    let log = std::fs::read_to_string(ctx.dir.join("rollout.log")).unwrap();
    assert!(!log.contains("other clients can still move the object"), "{log}");
    assert_eq!(ctx.versions(), [(B.to_owned(), 6)].into());
    for name in ["e-1", "e-2", "e-3"] {
        assert_eq!((note(ctx, name, HELD), note(ctx, name, WANTED)), (Value::Null, Value::Null), "{name}");
    }
    assert_eq!(note(ctx, "e-4", WANTED), json!(UNKNOWN), "the refused version is recorded");
    assert_eq!(owners(ctx, "e-2"), ["pointsman-rollout Update"]);
    // The manifest of Git matches: Git owns the label as well, and is quiet from then on.
    let answer = ctx.apply(new, "e-2", &manifest, "git");
    assert!(answer.is_ok() && answer.warnings.is_empty(), "{} {:?}", answer.message(), answer.warnings);
    assert_eq!(owners(ctx, "e-2"), ["git Apply", "pointsman-rollout Update"]);
    let before = version(ctx, "e-2");
    ctx.apply(new, "e-2", &manifest, "git").ok();
    assert_eq!(version(ctx, "e-2"), before);
    drop(servers);
    ctx.forgets_rollout();
}

/// Requests the new version in every way.
fn everybody_asks(ctx: &TestContext<'_>, manifest: &Value) {
    let (new, key) = (ctx.sample.new, ctx.label_key());
    let asks = |version: &str| json!({"metadata": {"labels": {&key: version}}});
    // By hand.
    stays(ctx, "e-1", &ctx.patch(new, "e-1", &asks(B)), B);
    assert!(owners(ctx, "e-1").iter().all(|owner| owner.ends_with(" Update")), "{:?}", owners(ctx, "e-1"));
    // By server-side apply, repeatedly, as a GitOps tool does.
    stays(ctx, "e-2", &ctx.force_apply(new, "e-2", manifest, "git"), B);
    assert_eq!(owners(ctx, "e-2"), ["git Apply"]);
    let before = version(ctx, "e-2");
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1_100));
        stays(ctx, "e-2", &ctx.apply(new, "e-2", manifest, "git"), B);
        assert_eq!(version(ctx, "e-2"), before, "repeated applies write nothing");
    }
    let tried = ctx.apply(new, "e-2", manifest, "git&dryRun=All").ok();
    assert_eq!(tried["metadata"], one(ctx, "e-2")["metadata"], "a diff is empty");
    // By a replace without annotations.
    let mut replaced = one(ctx, "e-3");
    replaced["metadata"]["labels"][&key] = json!(B);
    replaced["metadata"].as_object_mut().unwrap().remove("annotations");
    let body = Some(("application/json", replaced.to_string()));
    stays(ctx, "e-3", &ctx.call(Method::PUT, &ctx.one(new, "e-3"), body), B);
    // A request for an unserved version is recorded as well.
    stays(ctx, "e-4", &ctx.patch(new, "e-4", &asks(UNKNOWN)), UNKNOWN);
    // A client that clears the hold moves the object.
    let mut lets_go = asks(B);
    lets_go["metadata"]["annotations"] = json!({HELD: ""});
    assert!(ctx.patch(new, "e-5", &lets_go).is_ok());
    assert_eq!(label(ctx, "e-5"), json!(B));
}

fn stopped(ctx: &TestContext<'_>) {
    let _servers = begins(ctx);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let new = ctx.sample.new;
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("canary 1/1, waiting for approval");
    let asks = json!({"metadata": {"labels": {ctx.label_key(): B}}});
    stays(ctx, "e-1", &ctx.patch(new, "e-1", &asks), B);
    ctx.does(&["abort"]);
    ctx.rollout_says("Aborted");
    running.end(Duration::from_secs(20));
    for at in 1..6 {
        let name = format!("e-{at}");
        assert_eq!(label(ctx, &name), json!(A), "{name}");
        assert!(note(ctx, &name, HELD).as_str().is_some_and(|text| text.starts_with("released ")), "{name}");
    }
    assert_eq!(note(ctx, "e-1", WANTED), json!(B), "a requested version is applied or reported");
    assert!(ctx.patch(new, "e-1", &asks).is_ok());
    assert_eq!(label(ctx, "e-1"), json!(B));
    ctx.does(&["clean"]);
    assert_eq!(note(ctx, "e-2", HELD), Value::Null);
    ctx.forgets_rollout();
}

fn deleted(ctx: &TestContext<'_>) {
    let _servers = begins(ctx);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let new = ctx.sample.new;
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("canary 1/1, waiting for approval");
    running.kill();
    ctx.forgets_rollout();
    // No runner releases the hold any more; the warning names the manual command.
    let asks = json!({"metadata": {"labels": {ctx.label_key(): B}}});
    let answer = ctx.patch(new, "e-1", &asks);
    stays(ctx, "e-1", &answer, B);
    assert!(answer.warnings.concat().contains("To change the label now, set annotation pointsman.dev/hold to"));
    ctx.patch(new, "e-1", &json!({"metadata": {"annotations": {HELD: ""}}})).ok();
    assert!(ctx.patch(new, "e-1", &asks).is_ok());
    assert_eq!(label(ctx, "e-1"), json!(B));
    let left = json!({"metadata": {"labels": {"rollout": "left"}}});
    ctx.patch(new, "e-2", &left).ok();
    // The next rollout has the same name, holds no object, and selects only some objects.
    let all = json!({"name": "all", "maxInFlight": 4});
    ctx.starts_rollout(&json!({"selector": {"labels": "rollout!=left"}, "waves": [all]}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    let labels = ["e-0", "e-1", "e-2", "e-3", "e-4", "e-5"].map(|name| label(ctx, name));
    assert_eq!(labels, [B, B, A, B, B, B].map(|version| json!(version)));
    for name in ["e-2", "e-3", "e-4", "e-5"] {
        assert!(note(ctx, name, HELD).as_str().is_some_and(|text| text.starts_with("released ")), "{name}");
    }
    ctx.does(&["clean"]);
    assert_eq!(note(ctx, "e-3", HELD), Value::Null);
    ctx.forgets_rollout();
}

fn unregistered(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&["e-0", "e-1"].map(str::to_owned), Some(A));
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"hold": true}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(errors.matches("e-0 is held, but other clients can still move the object").count(), 1, "{errors}");
    assert!(!errors.contains("e-1 is held"), "{errors}");
    assert_eq!(ctx.versions(), [(B.to_owned(), 2)].into());
    for name in ["e-0", "e-1"] {
        assert_eq!(note(ctx, name, HELD), Value::Null, "{name}");
    }
    ctx.forgets_rollout();
}

/// An object that is created during the rollout is held once observed, and so is an object with the hold of an export.
/// Each moves at its turn, and not earlier.
fn created(ctx: &TestContext<'_>) {
    let _servers = begins(ctx);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let new = ctx.sample.new;
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("canary 1/1, waiting for approval");
    let export = note(ctx, "e-1", HELD);
    let of_another = json!({"rollout": "gone", "name": "gone", "at": "2026-01-01T00:00:00Z"}).to_string();
    for (name, held) in [("late-0", Value::Null), ("late-1", export), ("late-2", json!(of_another))] {
        let mut object = ctx.labelled(new, name, Some(A));
        if !held.is_null() {
            object["metadata"]["annotations"] = json!({HELD: held});
        }
        ctx.create(new, &object).ok();
        ctx.report(name, true);
    }
    ctx.eventually(|| note(ctx, "late-0", HELD).as_str().is_some_and(|text| text.contains(&ctx.ns)).then_some(()));
    let asks = json!({"metadata": {"labels": {ctx.label_key(): B}}});
    for name in ["late-0", "late-1", "late-2"] {
        let answer = ctx.patch(new, name, &asks);
        let warned = answer.warnings.concat();
        assert!(answer.is_ok() && warned.contains("holds this object until its turn"), "{name}: {warned}");
        assert_eq!((label(ctx, name), note(ctx, name, WANTED)), (json!(A), json!(B)), "{name}");
    }
    ctx.does(&["approve", "canary"]);
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(ctx.versions(), [(B.to_owned(), 9)].into());
    for name in ["late-0", "late-1"] {
        assert_eq!((note(ctx, name, HELD), note(ctx, name, WANTED)), (Value::Null, Value::Null), "{name}");
    }
    // The hold annotation of the other rollout is replaced by a release.
    assert!(note(ctx, "late-2", HELD).as_str().is_some_and(|text| text.starts_with("released ")));
    let mut writes = ctx.rollout_writes();
    writes.retain(|name| name.starts_with("late-0"));
    assert_eq!(writes.len(), 2, "it was held and moved: {writes:?}");
    ctx.forgets_rollout();
}

/// Two writes per object, hold and move, for any number of objects. `POINTSMAN_OBJECTS` is the number.
fn many(ctx: &TestContext<'_>) {
    let count = std::env::var("POINTSMAN_OBJECTS").map_or(60, |count| count.parse().unwrap());
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..count).map(|at| format!("e-{at:04}")).collect();
    ctx.engines(&names, Some(A));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let waves = json!([{"name": "all", "maxInFlight": 40, "before": "approval"}]);
    ctx.starts_rollout(&json!({"hold": true, "waves": waves, "timeout": "10m"}));
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Pass);
    let began = Instant::now();
    let mut running = ctx.rollouts_through("one", &ctx.through(proxy.port));
    let waits = || (ctx.rollout_status()["reason"] == "Approval").then_some(());
    let patience = Duration::from_secs(180 + count as u64);
    eventually("all are held", patience, waits);
    let (held_after, held) = (began.elapsed(), proxy.calls());
    assert!(names.iter().all(|name| note(ctx, name, HELD).is_string()));
    ctx.does(&["approve", "all"]);
    eventually("it is complete", patience, || (ctx.rollout_status()["phase"] == "Complete").then_some(()));
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    let calls = proxy.calls();
    let of = |calls: &[String], what: &str| calls.iter().filter(|call| call.contains(what)).count();
    let object = |method: &str| format!("{method} {}/e-", ctx.all(ctx.sample.new));
    let (patch, get) = (object("PATCH"), object("GET"));
    println!(
        "{count} objects: held after {:.1} s, through after {:.1} s; {} calls, of which {} patches of objects, {} of \
         them before the first move, {} GETs of one, {} lists",
        held_after.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        calls.len(),
        of(&calls, &patch),
        of(&held, &patch),
        of(&calls, &get),
        of(&calls, "?limit="),
    );
    // One extra PATCH on the first object: checks that the webhook keeps other clients from moving the object.
    assert_eq!(of(&held, &patch), count + 1, "each is held by one write");
    // And one more: checks that the annotation of the move is kept.
    assert_eq!(of(&calls, &patch), 2 * count + 2, "and moved by one");
    assert!(of(&calls, &get) * 20 <= count, "{} GETs of one", of(&calls, &get));
    assert!(names.iter().all(|name| note(ctx, name, HELD).is_null()));
    assert_eq!(ctx.versions(), [(B.to_owned(), count)].into());
    ctx.forgets_rollout();
}
