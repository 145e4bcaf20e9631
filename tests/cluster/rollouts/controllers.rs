//! StagedRollouts and the controllers of both versions: the controllers run, and only one controller acts on an object.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::Method;
use pointsman_rollout::rfc3339;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::rolling::{Controllers, status};
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("missing_controller_blocks_moves", dead).of(&ENGINES).newest(),
    Scenario::new("silent_controller_pauses_rollout", silent).of(&ENGINES).newest(),
    Scenario::new("writing_old_controller_pauses_rollout", contested).of(&ENGINES).newest(),
    Scenario::new("one_manager_writes_are_seen", of_one_manager).of(&ENGINES).newest(),
    Scenario::new("two_managers_writes_are_seen", of_two_managers).of(&ENGINES).newest(),
];

/// A cluster with some healthy engines at A, whose definition distinguishes their controllers.
fn begins(ctx: &TestContext<'_>, count: usize) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let lease = format!("lease: {{namespace: {}, name: \"engine-v{{version}}\"}}", ctx.ns);
    let managers = format!("managers: {{{A}: old-controller, {B}: engine-controller}}");
    let admission = format!("admission:\n  {lease}\n  {managers}\n");
    fs::write(&file, definition.replace("admission:\n", &admission)).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&names(count), Some(A));
}

/// The Lease of a controller, renewed until the value is dropped.
struct Renewed {
    ends: Arc<AtomicBool>,
    works: Option<JoinHandle<()>>,
}

impl Renewed {
    fn start(ctx: &TestContext<'_>, version: &str) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (ended, client) = (ends.clone(), ctx.test_cluster.api.client.another());
        let all = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", ctx.ns);
        let name = format!("engine-v{}", version.replace('.', "-"));
        let one = format!("{all}/{name}");
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": {"holderIdentity": "played", "leaseDurationSeconds": 5, "renewTime": renewed_at()},
        });
        ctx.call(Method::POST, &all, Some(("application/json", lease.to_string())));
        let works = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let renewed = json!({"spec": {"renewTime": renewed_at()}}).to_string();
                client.call(Method::PATCH, &one, Some((MERGE, renewed)));
                sleep(Duration::from_millis(500));
            }
        });
        Self { ends, works: Some(works) }
    }
}

impl Drop for Renewed {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(works) = self.works.take() {
            let _ = works.join();
        }
    }
}

fn renewed_at() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    rfc3339(now.as_secs()).replace('Z', &format!(".{:06}Z", now.subsec_micros()))
}

fn at(ctx: &TestContext<'_>, version: &str) -> usize {
    ctx.versions().get(version).copied().unwrap_or_default()
}

/// The objects seem healthy all the time: the old controller reported the health.
fn dead(ctx: &TestContext<'_>) {
    // The objects take longer than the expiry of a Lease and the next check.
    begins(ctx, 18);
    let file = ctx
        .rollout_file(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "timeout": "120s"}))
        .display()
        .to_string();
    let not_there = format!("controller {A} does not run: Lease {}/engine-v2-16-0 does not exist", ctx.ns);
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", &file]);
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains(&format!("\nno object would move: {not_there}\n")), "{text}");
    ctx.commanded(&["rollout", "start", "-f", &file]);
    let (code, text, errors) = ctx.runs_rollout(&["--once"]);
    assert_eq!(code, 0, "it waits: {text}{errors}");
    assert!(text.contains(&not_there), "{text}");
    assert_eq!(ctx.rollout_status()["reason"], "PreconditionsNotMet");

    let (_old, new) = (Renewed::start(ctx, A), Renewed::start(ctx, B));
    let controllers = Controllers::start(ctx, |_, _| Some(true));
    let mut running = ctx.rollouts_on("one");
    ctx.eventually(|| (at(ctx, B) >= 1).then_some(()));
    // The controller also stops checking objects.
    drop((new, controllers));
    let status = ctx.rollout_says("controller 2.17.0 does not run");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("engine-v2-17-0 was not renewed for") && message.contains("lasts 5 s"), "{message}");
    let under_way = || {
        let status = ctx.rollout_status();
        let uids: Vec<Value> = status["inFlight"].as_array().unwrap().iter().map(|one| one["uid"].clone()).collect();
        (uids, status["counts"]["updated"].clone(), at(ctx, B))
    };
    let before = under_way();
    sleep(Duration::from_secs(5));
    assert_eq!(under_way(), before, "no further object moves, and moved objects are not healthy");
    assert!(before.2 < 18, "{before:?}");
    let _new = Renewed::start(ctx, B);
    let controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    drop(controllers);
    assert_eq!(ctx.rollout_writes().len(), 18);
    ctx.forgets_rollout();
}

/// The Lease is renewed, but no controller acts on moved objects: their health is outdated.
fn silent(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    let _leases = [A, B].map(|version| Renewed::start(ctx, version));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "timeout": "5s"}));
    let (code, text, errors) = ctx.runs_rollout(&["--once"]);
    assert_eq!(code, 0, "{text}{errors}");
    sleep(Duration::from_secs(6));
    let (code, text, errors) = ctx.runs_rollout(&["--once"]);
    assert_eq!(code, 1, "{text}{errors}");
    let status = ctx.rollout_status();
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Paused"), &json!("TimedOut")), "{status}");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("not healthy within 5s") && message.contains("engine-controller has not written"),
        "{message}"
    );
    assert_eq!(ctx.rollout_writes(), ["e-00"]);
    ctx.forgets_rollout();
}

fn contested(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    let _leases = [A, B].map(|version| Renewed::start(ctx, version));
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let wave = json!({"name": "first", "selector": {"labels": "rollout=first"}, "after": "approval"});
    ctx.patch(ctx.sample.new, "e-01", &json!({"metadata": {"labels": {"rollout": "first"}}})).ok();
    ctx.starts_rollout(&json!({"waves": [wave, {"name": "rest"}]}));
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("waiting for approval");
    let writes = |manager: &str| -> Value {
        let path = format!("{}/status?fieldManager={manager}", ctx.one(ctx.sample.new, "e-01"));
        let said = json!({"status": status(true, &renewed_at())["status"]}).to_string();
        ctx.call(Method::PATCH, &path, Some((MERGE, said))).ok()
    };
    // Longer than the old controller may take to finish its work.
    sleep(Duration::from_secs(12));
    writes("old-controller");
    // The runner checks the whole fleet at intervals.
    let stopped = ctx.rollout_says("TwoControllers");
    assert_eq!(stopped["phase"], "Paused");
    let said = format!("{}/e-01: two controllers: old-controller wrote to the object at", ctx.ns);
    assert!(stopped["message"].as_str().unwrap().starts_with(&said), "{stopped}");
    ctx.rollout_tells("e-01", "TwoControllers", "");
    // The old controller stops writing.
    ctx.does(&["resume"]);
    ctx.does(&["approve", "first"]);
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(at(ctx, B), 3);
    ctx.forgets_rollout();
}

/// The controllers of both versions write as one field manager.
fn of_one_manager(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&names(20), Some(A));
    answer(ctx, |_| "engine-controller");
}

/// Each version has a controller with its own field manager.
fn of_two_managers(ctx: &TestContext<'_>) {
    begins(ctx, 20);
    let _leases = [A, B].map(|version| Renewed::start(ctx, version));
    answer(ctx, |version| if version == A { "old-controller" } else { "engine-controller" });
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("e-{at:02}")).collect()
}

/// A controller writes once per object, after different delays: all objects move forward and back.
fn answer(ctx: &TestContext<'_>, manager: fn(&str) -> &'static str) {
    for delay in [0, 20, 200, 1_100] {
        let _controllers = Controllers::start_after(ctx, Duration::from_millis(delay), manager, |_, _| Some(true));
        ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 5}], "timeout": "20s"}));
        let (code, text, errors) = ctx.runs_rollout(&[]);
        assert_eq!((code, at(ctx, B)), (0, 20), "{delay} ms: {text}{errors}");
        ctx.does(&["undo"]);
        let (code, text, errors) = ctx.runs_rollout(&[]);
        assert_eq!((code, at(ctx, A)), (0, 20), "{delay} ms: {text}{errors}");
        assert_eq!(ctx.rollout_status()["reason"], "RolledBack", "{delay} ms");
        ctx.forgets_rollout();
    }
}
