//! Moves a fleet from one controller version to another: each scenario once, on the real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Heard;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::pointsman::Pointsman;
use crate::support::process::{Process, SOON};
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::rolling::{Controllers, Over};
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, C, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("plan_lists_unmovable_objects", planned).of(&ENGINES).newest(),
    Scenario::new("failing_rollout_undoes_the_fleet", taken_back).of(&ENGINES).newest(),
    Scenario::new("irreversible_rollout_needs_acceptance", one_way).of(&ENGINES).newest(),
    Scenario::new("a_rollout_waits_for_its_window", closed).of(&ENGINES).newest(),
    Scenario::new("rollout_waits_for_webhook", down).of(&ENGINES).newest(),
    Scenario::new("recreated_object_is_evaluated_again", made_again).of(&ENGINES).newest(),
    Scenario::new("replaced_object_is_not_patched", replaced).of(&ENGINES).newest(),
    Scenario::new("canary_waits_for_approval", approval).of(&ENGINES),
    Scenario::new("rollout_pauses_at_unhealthy_limit", never_healthy).of(&ENGINES).newest(),
    Scenario::new("rollout_pauses_for_unhealthy_fleet", red).of(&ENGINES).newest(),
    Scenario::new("killed_rollout_labels_objects_once", killed).of(&ENGINES),
    Scenario::new("suspended_runner_loses_its_rollout", frozen).of(&ENGINES).newest(),
    Scenario::new("runner_takes_over_killed_rollout", killed_before).of(&ENGINES).newest(),
    Scenario::new("lease_survives_slow_list", slow).of(&ENGINES).newest(),
    Scenario::new("contended_objects_are_moved", busy).of(&ENGINES).newest(),
    Scenario::new("all_rollouts_run_concurrently", every).of(&ENGINES).newest(),
    Scenario::new("late_objects_are_moved", late).of(&ENGINES).newest(),
    Scenario::new("contested_label_pauses_rollout", turned_back).of(&ENGINES).newest(),
    Scenario::new("active_rollout_blocks_its_deletion", deleted).of(&ENGINES).newest(),
    Scenario::new("noop_request_fails", without_effect).of(&ENGINES).newest(),
    Scenario::new("prioritized_object_is_next", told).of(&ENGINES).newest(),
    Scenario::new("overlapping_rollouts_are_refused", overlapping).of(&ENGINES).newest(),
    Scenario::new("concurrent_starts_run_one", max_in_flight).of(&ENGINES).newest(),
    Scenario::new("contended_rollout_starts", written_meanwhile).of(&ENGINES).newest(),
    Scenario::new("rollout_adopts_unlabelled_objects", adopted).of(&ENGINES).newest(),
];

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("e-{at:02}")).collect()
}

/// A cluster with some healthy engines at A.
fn begins(ctx: &TestContext<'_>, count: usize) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&names(count), Some(A));
}

fn count(ctx: &TestContext<'_>, version: &str) -> usize {
    ctx.versions().get(version).copied().unwrap_or_default()
}

/// A concurrent write approves, labels or reorders at that moment.
fn written_meanwhile(ctx: &TestContext<'_>) {
    begins(ctx, 1);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({}));
    let writes = AtomicUsize::new(0);
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, asked| {
        let is_status = method == Method::PUT && asked.contains("/stagedrollouts/");
        match is_status && writes.fetch_add(1, Ordering::Relaxed) < 2 {
            true => Fate::Answer(409, None, status(409, "the object has been modified")),
            false => Fate::Pass,
        }
    });
    let (code, text, errors) = ctx.runs_rollout(&[&format!("--kubeconfig={}", ctx.through(proxy.port).display())]);
    assert_eq!((code, count(ctx, B)), (0, 1), "{text}{errors}");
}

/// Type, status and reason of each condition.
fn conditions(status: &Value) -> Vec<String> {
    let text = |condition: &Value, member: &str| condition[member].as_str().unwrap().to_owned();
    let words = |one: &Value| ["type", "status", "reason"].map(|member| text(one, member)).join(" ");
    status["conditions"].as_array().unwrap().iter().map(words).collect()
}

fn approval(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    let canary = json!({"metadata": {"labels": {"rollout": "canary"}}});
    ctx.patch(ctx.sample.new, "e-01", &canary).ok();
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let wave =
        json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1, "after": "approval"});
    let file =
        ctx.rollout_file(&json!({"waves": [wave, {"name": "rest", "maxInFlight": "50%"}]})).display().to_string();
    // Start version, target version and phase.
    let said = ctx.commanded(&["rollout", "start", "-f", &file]);
    let cells = |line: usize| said.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells(0)[..5], ["NAME", "KIND", "FROM", "TO", "PHASE"], "{said}");
    assert_eq!(cells(1)[2..5], [A, B, "Pending"], "{said}");
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Pass);
    let mut running = ctx.rollouts_through("one", &ctx.through(proxy.port));
    let status = ctx.rollout_says("canary 1/1, waiting for approval");
    assert_eq!((&status["phase"], &status["wave"]), (&json!("Waiting"), &json!("canary")));
    assert_eq!(
        conditions(&status),
        ["Progressing False Approval", "Paused False Waiting", "Complete False Waiting", "Failed False Waiting"]
    );
    assert_eq!((count(ctx, B), ctx.rollout_writes()), (1, vec!["e-01".to_owned()]), "one was moved, and no other");
    // The controllers have processed all existing objects.
    sleep(Duration::from_secs(3));
    let others = || ["e-00", "e-02"].map(|name| ctx.get(ctx.sample.new, name).ok());
    let page = format!("/{}?limit=", ctx.sample.plural);
    let lists = || proxy.calls().iter().filter(|call| call.contains(&page)).count();
    let (before, listed) = (others(), lists());
    assert!(listed > 0);
    sleep(Duration::from_secs(10));
    assert_eq!(others(), before, "the others are left alone");
    assert!(lists() - listed <= 1, "now and then, to see whether others turn red: {}", lists() - listed);
    let (shown, next) = (ctx.does(&["status"]), format!("next      pointsman rollout approve {} canary", ctx.ns));
    assert!(shown.contains(&next) && shown.contains("canary 1/1"), "{shown}");
    ctx.does(&["approve", "canary"]);
    let document = json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": ctx.ns}});
    let waited = ctx.kubectl(&["wait", "--for=condition=Complete", "--timeout=60s"], &document);
    assert!(waited.contains("condition met"), "{waited}");
    assert_eq!(ctx.rollout_status()["observedGeneration"], 1);
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(count(ctx, B), 3);
    assert_eq!(ctx.rollout_writes().len(), 3);
    ctx.forgets_rollout();
}

fn never_healthy(ctx: &TestContext<'_>) {
    begins(ctx, 20);
    ctx.starts_rollout(&json!({"timeout": "5s"}));
    let mut running = ctx.rollouts_on("one");
    let status = ctx.rollout_says("Paused");
    sleep(Duration::from_secs(3));
    assert_eq!(ctx.rollout_writes(), ["e-00", "e-01", "e-02"], "exactly three labels were ever changed");
    let counts = &ctx.rollout_status()["counts"];
    assert_eq!((&counts["failed"], &counts["pending"]), (&json!(3), &json!(17)), "{counts}");
    let message = status["message"].as_str().unwrap();
    for said in [&format!("{}/e-00", ctx.ns), "to 2.17.0", "not healthy within 5s", "engine-controller has not written"]
    {
        assert!(message.contains(said), "{said}: {message}");
    }
    let names = ctx.does(&["list", "-o", "name"]);
    assert!(names.lines().any(|name| name == ctx.ns), "{names}");
    let wide = ctx.does(&["list", "-o", "wide"]);
    let line = wide.lines().find(|line| line.starts_with(&ctx.ns)).unwrap();
    assert!(wide.starts_with("NAME ") && line.contains("TimedOut") && line.contains("not healthy within"), "{wide}");
    let metrics = ctx.does(&["list", "-o", "prometheus"]);
    let of = format!("{{rollout=\"{}\",kind=\"{}\"", ctx.ns, ctx.crd_name());
    for sample in [
        format!("pointsman_rollout_phase{of},phase=\"Paused\",reason=\"TimedOut\"}} 1"),
        format!("pointsman_rollout_objects{of},state=\"failed\"}} 3"),
        format!("pointsman_rollout_wave_objects{of},wave=\"all\",objects=\"total\"}} 20"),
    ] {
        assert!(metrics.lines().any(|line| line == sample), "{sample}: {metrics}");
    }
    for (about, reason, said) in [
        (&ctx.ns[..], "Rolling", "in flight"),
        (&ctx.ns[..], "TimedOut", "not healthy within 5s"),
        ("e-00", "TimedOut", "engine-controller has not written"),
        ("e-02", "TimedOut", &format!("rollout {}: ", ctx.ns)),
    ] {
        ctx.rollout_tells(about, reason, said);
    }
    running.interrupt();
    assert_eq!(running.end(Duration::from_secs(20)), Some(130));
    // With `--once` the result is a failure.
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 1);
    ctx.forgets_rollout();
}

fn red(ctx: &TestContext<'_>) {
    begins(ctx, 8);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    // The controllers have processed all existing objects.
    sleep(Duration::from_secs(3));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "maxUnhealthy": 1}));
    let mut running = ctx.rollouts_on("one");
    ctx.eventually(|| (count(ctx, B) >= 1).then_some(()));
    for name in ["e-06", "e-07"] {
        ctx.report(name, false);
    }
    let status = ctx.rollout_says("Unhealthy");
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Paused"), &json!("Unhealthy")), "{status}");
    assert!(status["message"].as_str().unwrap().contains("e-06"), "{status}");
    let moved = count(ctx, B);
    sleep(Duration::from_secs(3));
    assert_eq!((count(ctx, B), moved < 6), (moved, true), "none more is moved");
    // SIGTERM, as the kubelet sends it.
    assert_eq!(running.terminate(Duration::from_secs(20)).and_then(|ended| ended.code()), Some(130));
    // Healthy objects alone do not resume the rollout: an operator must.
    for name in ["e-06", "e-07"] {
        ctx.report(name, true);
    }
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 1);
    assert_eq!(count(ctx, B), moved);
    ctx.does(&["resume"]);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.contains("Complete: 8 objects at 2.17.0"), "{text}");
    ctx.forgets_rollout();
}

/// Sends SIGKILL at fifty times: twenty objects, and exactly twenty label writes.
fn killed(ctx: &TestContext<'_>) {
    begins(ctx, 20);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"timeout": "60s"}));
    let (all, label, client) = (ctx.all(ctx.sample.new), ctx.label_key(), ctx.test_cluster.api.client.another());
    let (ends, is_heard) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let followed = std::thread::scope(|scope| {
        let over = Over(ends);
        let following = scope.spawn(|| {
            let mut followed = Followed::default();
            client.follow(&all, ends, |heard| match heard {
                Heard::All(objects) => {
                    objects.into_iter().for_each(|object| followed.hears(object, &label));
                    is_heard.store(true, Ordering::Relaxed);
                }
                Heard::Changed(object) => followed.hears(object, &label),
                Heard::Gone(_) => {}
            });
            followed
        });
        ctx.eventually(|| is_heard.load(Ordering::Relaxed).then_some(()));
        for round in 0_u64..50 {
            let mut running = ctx.rollouts_on("test");
            // Deterministic, so that failures are reproducible: the delays cover a whole reconcile.
            sleep(Duration::from_millis(30 + round * 37 % 400));
            running.kill();
        }
        // On a slow machine no run may have made enough progress.
        for round in 1..20 {
            if count(ctx, B) > 0 {
                break;
            }
            let mut running = ctx.rollouts_on("test");
            sleep(Duration::from_millis(500 * round));
            running.kill();
        }
        assert!(count(ctx, B) > 0, "some were killed as they wrote");
        let (code, text, errors) = ctx.runs_rollout(&[]);
        assert_eq!(code, 0, "{text}{errors}");
        drop(over);
        following.join().unwrap()
    });
    assert_eq!(count(ctx, B), 20);
    assert_eq!((followed.moves, followed.most <= 3), (20, true), "{} moving at a time", followed.most);
    // If the client was killed before the response, the log contains the write with another code than 200.
    let mut writes = ctx.rollout_writes();
    writes.sort();
    let all = writes.len();
    writes.dedup();
    assert_eq!(writes.len(), all, "no label was written twice: {writes:?}");
    assert!(all >= 15, "{writes:?}");
    ctx.forgets_rollout();
}

/// The observations of a watch on a fleet.
#[derive(Default)]
struct Followed {
    versions: BTreeMap<String, Value>,
    /// Moved objects, with the `managedFields` entry of their controller at that time, until the entry changes.
    moving: BTreeMap<String, Value>,
    /// The number of changed labels.
    moves: usize,
    /// The highest number of objects in flight.
    most: usize,
}

impl Followed {
    fn hears(&mut self, object: Value, label: &str) {
        let (name, now) =
            (object["metadata"]["name"].as_str().unwrap().to_owned(), &object["metadata"]["labels"][label]);
        let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
        let looked = entries.filter(|entry| entry["manager"] == "engine-controller").cloned().collect::<Value>();
        let before = self.versions.insert(name.clone(), now.clone());
        if before.is_some_and(|before| before != *now) {
            self.moves += 1;
            self.moving.insert(name, looked);
        } else if self.moving.get(&name).is_some_and(|then| *then != looked) {
            self.moving.remove(&name);
        }
        self.most = self.most.max(self.moving.len());
    }
}

fn frozen(ctx: &TestContext<'_>) {
    begins(ctx, 6);
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 2}], "timeout": "5m"}));
    let mut first = ctx.rollouts_on("first");
    ctx.eventually(|| (count(ctx, B) == 2).then_some(()));
    first.freeze();
    let mut second = ctx.rollouts_on("second");
    sleep(Duration::from_secs(40));
    first.thaw();
    let (ended, log) = (first.end(SOON), || std::fs::read_to_string(ctx.dir.join("rollout.log")).unwrap());
    assert_eq!(ended, Some(1), "{}", log());
    assert_eq!(count(ctx, B), 2, "no moved object is healthy yet");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    assert!(log().contains(&format!("lost rollout {} to second", ctx.ns)), "{}", log());
    assert_eq!(second.end(SOON), Some(0));
    let mut writes = ctx.rollout_writes();
    writes.sort();
    assert_eq!(writes, names(6), "each was moved once");
    ctx.forgets_rollout();
}

/// With `--once` a run does not wait for another runner; a killed runner counts as stopped.
fn killed_before(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "timeout": "5m"}));
    let mut first = ctx.rollouts_on("first");
    ctx.eventually(|| (count(ctx, B) == 1).then_some(()));
    let namespace = format!("--namespace={}", ctx.ns);
    let once = || ctx.command(&["rollout", "run", &ctx.ns, "--once", "--holder=second", &namespace]);
    let (code, _, errors) = once();
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains(&format!("rollout {} is run by first", ctx.ns)), "{errors}");
    first.kill();
    let (code, text, errors) = once();
    assert_eq!(code, 0, "{text}{errors}");
    assert!(errors.contains("first runs this rollout: waiting for the end of that runner"), "{errors}");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    assert_eq!(ctx.runs_rollout(&[]).0, 0);
    assert_eq!(count(ctx, B), 3);
    ctx.forgets_rollout();
}

/// The first list of the fleet takes longer than a Lease lasts.
fn slow(ctx: &TestContext<'_>) {
    begins(ctx, 2);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({}));
    let page = format!("/{}?limit=", ctx.sample.plural);
    let is_first = AtomicBool::new(true);
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, _, path| {
        match path.contains(&page) && is_first.swap(false, Ordering::Relaxed) {
            true => Fate::Late(Duration::from_secs(25)),
            false => Fate::Pass,
        }
    });
    let mut first = ctx.rollouts_through("first", &ctx.through(proxy.port));
    ctx.eventually(|| proxy.calls().iter().any(|call| call.contains("?limit=")).then_some(()));
    // The waiting runner takes over as soon as allowed.
    let mut second = ctx.rollouts_on("second");
    assert_eq!(first.end(SOON), Some(0));
    second.end(Duration::from_secs(30));
    let mut writes = ctx.rollout_writes();
    writes.sort();
    assert_eq!(writes, names(2));
    let log = std::fs::read_to_string(ctx.dir.join("first.log")).unwrap();
    assert!(log.contains("moved") && !log.contains("lost"), "{log}");
    ctx.forgets_rollout();
}

fn busy(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let ends = AtomicBool::new(false);
    ctx.starts_rollout(&json!({}));
    let (began, noise) = (Instant::now(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = Over(&ends);
        for name in names(3) {
            let path = format!("{}/status?fieldManager=noise", ctx.one(ctx.sample.new, &name));
            let (client, ends, noise) = (ctx.test_cluster.api.client.another(), &ends, &noise);
            scope.spawn(move || {
                for round in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let body = json!({"status": {"replicas": round}}).to_string();
                    let written = client.call(Method::PATCH, &path, Some((MERGE, body)));
                    noise.fetch_add(usize::from(written.is_ok()), Ordering::Relaxed);
                }
            });
        }
        let (code, text, errors) = ctx.runs_rollout(&[]);
        assert_eq!(code, 0, "{text}{errors}");
        assert!(!errors.contains("reading again") && !errors.contains("trying again"), "{errors}");
    });
    let noise = noise.into_inner();
    assert!(noise >= 30, "{noise}: others wrote as well");
    let each = noise as f64 / began.elapsed().as_secs_f64() / 3.0;
    println!("     others wrote the status of each object {each:.0} times a second");
    let mut writes = ctx.rollout_writes();
    writes.sort();
    assert_eq!(writes, names(3), "no write was lost, and none repeated");
    ctx.forgets_rollout();
}

/// Two rollouts, the second started during the first, and a third of an unknown kind.
fn every(ctx: &TestContext<'_>) {
    begins(ctx, 4);
    for (at, name) in names(4).iter().enumerate() {
        let part = if at < 2 { "a" } else { "b" };
        ctx.patch(ctx.sample.new, name, &json!({"metadata": {"labels": {"part": part}}})).ok();
    }
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let other = format!("{}-other", ctx.ns);
    let stranger = format!("{}-stranger", ctx.ns);
    ctx.starts_rollout(&json!({"selector": {"labels": "part=a"}}));
    let unknown = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": stranger},
        "spec": {"kind": "stranger", "to": B, "waves": [{"name": "all"}]},
    });
    ctx.kubectl(&["apply"], &unknown);
    let mut running = ctx.rollouts_all_on("one");
    ctx.rollout_says("Complete");
    assert_eq!(count(ctx, B), 2);
    ctx.starts_rollout(&json!({"name": other, "selector": {"labels": "part=b"}}));
    ctx.eventually(|| (count(ctx, B) == 4).then_some(()));
    // A complete rollout starts again after a new request.
    ctx.does(&["undo"]);
    ctx.rollout_says("RolledBack");
    assert_eq!((count(ctx, A), count(ctx, B)), (2, 2));
    let path = |name: &str| format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
    ctx.eventually(|| (ctx.call_get(&path(&other))["status"]["phase"] == "Complete").then_some(()));
    running.interrupt();
    assert_eq!(running.end(Duration::from_secs(20)), Some(130));
    let log = std::fs::read_to_string(ctx.dir.join("rollout.log")).unwrap();
    for said in [
        &format!("{}: Complete: 2 objects at 2.17.0", ctx.ns),
        &format!("{other}: moved {}/e-02", ctx.ns),
        &format!("{stranger}: left alone: unknown kind \"stranger\""),
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    assert_eq!(ctx.rollout_writes().len(), 6, "each was moved once, and two were taken back");
    for name in [other, stranger] {
        ctx.call(Method::DELETE, &path(&name), None).ok();
    }
    ctx.forgets_rollout();
}

fn late(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    // An object without a label receives the label of the default version.
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}]}));
    let mut running = ctx.rollouts_on("one");
    ctx.eventually(|| (count(ctx, B) >= 2).then_some(()));
    for at in 0..5 {
        let new = ctx.sample.new;
        let made = ctx.create(new, &ctx.object(new, &format!("late-{at}"))).ok();
        assert_eq!(made["metadata"]["labels"][ctx.label_key()], A, "{made}");
        ctx.report(&format!("late-{at}"), true);
    }
    assert_eq!(running.end(SOON), Some(0));
    assert_eq!(ctx.versions(), [(B.to_owned(), 8)].into());
    ctx.forgets_rollout();
}

fn turned_back(ctx: &TestContext<'_>) {
    begins(ctx, 4);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}]}));
    let mut running = ctx.rollouts_on("one");
    ctx.eventually(|| (count(ctx, B) >= 1).then_some(()));
    let own = json!({
        "apiVersion": format!("{}/{}", ctx.group, ctx.sample.new), "kind": ctx.sample.kind,
        "metadata": {"name": "e-00", "namespace": ctx.ns, "labels": {ctx.label_key(): A}},
    });
    ctx.force_apply(ctx.sample.new, "e-00", &own, "kustomize-controller").ok();
    let status = ctx.rollout_says("Paused");
    assert_eq!(status["reason"], "Held");
    assert!(
        status["message"].as_str().unwrap().contains("kustomize-controller reverted the object to 2.16.0"),
        "{status}"
    );
    // After a check, an operator may resume with the other objects; this object stays unchanged.
    ctx.does(&["resume"]);
    assert_eq!(running.end(SOON), Some(0));
    let writes = ctx.rollout_writes();
    assert_eq!(writes.iter().filter(|name| *name == "e-00").count(), 1, "{writes:?}");
    assert_eq!((count(ctx, A), count(ctx, B)), (1, 3));
    let objects = ctx.does(&["objects"]);
    assert!(
        objects.lines().any(|line| line.contains("e-00") && line.ends_with("Held      kustomize-controller")),
        "{objects}"
    );
    ctx.forgets_rollout();
}

fn deleted(ctx: &TestContext<'_>) {
    begins(ctx, 2);
    ctx.starts_rollout(&json!({}));
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
    let dry = format!("{path}?dryRun=All");
    let message = ctx.eventually(|| {
        let answer = ctx.call(Method::DELETE, &dry, None);
        (!answer.is_ok()).then(|| answer.fails(403))
    });
    assert!(message.contains(&format!("rollout {} is Rolling: end the rollout first", ctx.ns)), "{message}");
    // Immutable fields.
    let other = json!({"spec": {"to": "2.18.0"}}).to_string();
    let message = ctx.call(Method::PATCH, &path, Some((MERGE, other))).fails(422);
    assert!(message.contains("cannot change after the start"), "{message}");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.does(&["clean"]), format!("rollout {}: 2 objects cleaned\n", ctx.ns));
    assert_eq!(ctx.rollout_writes().len(), 4, "one more each");
    for name in names(2) {
        assert_eq!(
            ctx.get(ctx.sample.new, &name).ok()["metadata"]["annotations"]["pointsman.dev/rollout"],
            Value::Null
        );
    }
    ctx.call(Method::DELETE, &path, None).ok();
    assert_eq!(ctx.call(Method::GET, &path, None).code, 404, "at once");
}

/// A complete rollout accepts only requests that move objects again.
fn without_effect(ctx: &TestContext<'_>) {
    begins(ctx, 3);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let more = json!({"waves": [{"name": "all", "maxInFlight": 3, "before": "approval"}]});
    let fails = |what: &[&str], said: &str| {
        let kubeconfig = format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display());
        let mut args = match what[0] {
            "start" => vec!["rollout", "start", "-f", what[1]],
            verb => [&["rollout", verb, ctx.ns.as_str()], &what[1..]].concat(),
        };
        args.push(&kubeconfig);
        let (code, text, errors) = ctx.command(&args);
        assert!(code == 1 && errors.contains(said), "{what:?}: {code} {text}{errors}");
    };
    let file = ctx.rollout_file(&more).display().to_string();
    ctx.starts_rollout(&more);
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    fails(&["resume"], "it is Waiting (Approval)");
    ctx.does(&["approve", "all"]);
    fails(&["approve", "all"], "before all is approved already");
    let shown = ctx.does(&["status"]);
    assert!(shown.contains("next      pointsman rollout run"), "{shown}");
    assert_eq!((ctx.runs_rollout(&[]).0, count(ctx, B)), (0, 3));
    for what in ["resume", "pause", "abort"] {
        fails(&[what], &format!("cannot {what} rollout {}: it is Complete", ctx.ns));
    }
    fails(&["start", &file], "the rollout is Complete, and has this setting already");
    fails(&["prioritize", &format!("{}/e-00", ctx.ns)], "is Complete: no more objects move");
    ctx.does(&["undo"]);
    fails(&["undo"], "the rollout is being undone already");
    assert_eq!((ctx.runs_rollout(&[]).0, count(ctx, A)), (0, 3));
    fails(&["undo"], "pointsman rollout start -f FILE");
    // The same document starts the rollout again.
    ctx.starts_rollout(&more);
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    ctx.does(&["approve", "all"]);
    assert_eq!((ctx.runs_rollout(&[]).0, count(ctx, B)), (0, 3));
    ctx.does(&["clean"]);
    fails(&["clean"], "no annotation or policy of this rollout is left in the cluster");
    ctx.forgets_rollout();
}

/// Within the limit of the wave, also after a kill.
fn told(ctx: &TestContext<'_>) {
    begins(ctx, 5);
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}]}));
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    assert_eq!(ctx.rollout_writes(), ["e-00"]);
    let tells = |name: &str| ctx.command(&["rollout", "prioritize", &ctx.ns, &format!("{}/{name}", ctx.ns)]);
    let title = |name: &str| format!("{}/{name}", ctx.ns);
    for (name, said) in [
        ("e-04", format!("rollout {}: {} moves next in wave all\n", ctx.ns, title("e-04"))),
        (
            "e-02",
            format!(
                "rollout {}: {} moves next in wave all, after an object with an earlier priority\n",
                ctx.ns,
                title("e-02")
            ),
        ),
    ] {
        let (code, text, errors) = tells(name);
        assert_eq!((code, text), (0, said), "{errors}");
    }
    for (name, said) in [("e-04", "already prioritized"), ("e-00", "e-00 is in flight already")] {
        let (code, text, errors) = tells(name);
        assert!(code == 1 && errors.contains(said), "{text}{errors}");
    }
    let (code, _, errors) = tells("nobody");
    assert!(code == 1 && errors.contains(&format!("has no object {}", title("nobody"))), "{errors}");
    let mut running = ctx.rollouts_on("test");
    sleep(Duration::from_secs(2));
    running.kill();
    assert_eq!(ctx.rollout_writes(), ["e-00"], "it waits for its turn");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.rollout_writes(), ["e-00", "e-04", "e-02", "e-01", "e-03"]);
    assert!(
        ctx.refused(&["rollout", "prioritize", &ctx.ns, &title("e-01")]).contains("is Complete: no more objects move")
    );
    ctx.forgets_rollout();
}

/// The second rollout selects four of the six objects of the first.
fn overlapping(ctx: &TestContext<'_>) {
    begins(ctx, 6);
    for name in &names(6)[..4] {
        ctx.patch(ctx.sample.new, name, &json!({"metadata": {"labels": {"part": "a"}}})).ok();
    }
    ctx.starts_rollout(&json!({}));
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    let (other, before) = (format!("{}-other", ctx.ns), ctx.rollout_writes());
    // With another name of its kind.
    let kind = format!("engine.v2.{}", ctx.group);
    let members = json!({
        "name": other, "kind": kind, "to": "2.18.0", "from": null, "selector": {"labels": "part=a"}, "paused": true,
    });
    let file = ctx.rollout_file(&members).display().to_string();
    let four: Vec<String> = names(4).iter().map(|name| format!("{}/{name}", ctx.ns)).collect();
    let message = format!("rollout {} has 4 of the same objects in flight: {}", ctx.ns, four.join(", "));
    let errors = ctx.refused(&["rollout", "start", "-f", &file]);
    assert!(errors.contains(&message) && errors.contains("the cluster is unchanged"), "{errors}");
    let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{other}");
    assert_eq!(ctx.call(Method::GET, &path, None).code, 404);
    // If the rollout was applied without the command, `run` reports the overlap.
    ctx.kubectl(&["apply"], &serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap());
    let run = |more: &[&str]| {
        let namespace = format!("--namespace={}", ctx.ns);
        ctx.command(&[&["rollout", "run", &other, &namespace][..], more].concat())
    };
    let (code, text, errors) = run(&[]);
    assert_eq!(code, 1, "{text}{errors}");
    let status = ctx.call_get(&path)["status"].clone();
    assert_eq!((&status["phase"], &status["message"]), (&json!("Refused"), &json!(message)));
    assert!(text.contains(&format!("Refused: {message}")), "{text}");
    assert_eq!(ctx.rollout_writes(), before, "the rollout has moved no object");
    // Once the first rollout is complete, the second may run.
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    assert_eq!(ctx.runs_rollout(&[]).0, 0);
    let (code, text, errors) = run(&["--once"]);
    assert_eq!(code, 1, "it is paused: {text}{errors}");
    assert_eq!(ctx.call_get(&path)["status"]["phase"], "Paused");
    // The first rollout can be undone only after the end of the second.
    ctx.does(&["undo"]);
    let before = ctx.rollout_writes();
    let (code, text, errors) = ctx.runs_rollout(&[]);
    let message = format!(
        "rollout {} has ended, and does not have direction Undo: rollout {other} has 4 of the same objects in flight",
        ctx.ns
    );
    assert!(code != 0 && errors.contains(&message), "{code} {text}{errors}");
    assert_eq!(ctx.rollout_writes(), before, "the rollout has moved no object");
    let kubeconfig = format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display());
    ctx.pointsman_prints_plainly(&["rollout", "resume", &other, &kubeconfig]);
    let (code, text, errors) = run(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.versions(), [(B.to_owned(), 2), (C.to_owned(), 4)].into());
    assert_eq!(ctx.runs_rollout(&[]).0, 0);
    assert_eq!(
        ctx.versions(),
        [(A.to_owned(), 2), (C.to_owned(), 4)].into(),
        "objects of the other rollout stay with it"
    );
    ctx.call(Method::DELETE, &path, None).ok();
    ctx.forgets_rollout();
}

/// With two processes, and with one.
fn max_in_flight(ctx: &TestContext<'_>) {
    begins(ctx, 4);
    let rollouts = ["one", "two"].map(|name| format!("{}-{name}", ctx.ns));
    let files = rollouts.each_ref().map(|name| ctx.rollout_file(&json!({"name": name})));
    let path = |name: &str| format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
    // Each has searched for other rollouts before any has recorded its start.
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, method, asked| match asked.contains("/status") {
        true if method == Method::PUT => Fate::Late(Duration::from_millis(700)),
        _ => Fate::Pass,
    });
    let kubeconfig = format!("--kubeconfig={}", ctx.through(proxy.port).display());
    let namespace = format!("--namespace={}", ctx.ns);
    for round in 0..4 {
        for file in &files {
            ctx.kubectl(&["apply"], &serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap());
        }
        if round % 2 == 0 {
            let mut both = rollouts.each_ref().map(|name| {
                let holder = format!("--holder={name}");
                let args = ctx.on_the_cluster(&["rollout", "run", name, "--once", &holder, &namespace, &kubeconfig]);
                let log = ctx.dir.join(format!("{name}.log"));
                Process::start("rollout", env!("CARGO_BIN_EXE_pointsman").as_ref(), &args, &log)
            });
            both.iter_mut().for_each(|one| assert!(one.end(SOON).is_some()));
        } else {
            let (code, text, errors) =
                ctx.command(&["rollout", "run", "--once", "--holder=both", &namespace, &kubeconfig]);
            assert_eq!(code, 1, "one of them is refused: {text}{errors}");
        }
        let all = rollouts.each_ref().map(|name| ctx.call_get(&path(name))["status"].clone());
        let begun = all.iter().filter(|status| status["started"].is_string()).count();
        let refused = all.iter().filter(|status| status["phase"] == "Refused").count();
        assert_eq!((begun <= 1, begun + refused), (true, 2), "{all:#?}");
        assert!(begun == 1 || round % 2 == 0, "in one process there is always one that begins: {all:#?}");
        let mark = |name: String| {
            ctx.get(ctx.sample.new, &name).ok()["metadata"]["annotations"]["pointsman.dev/rollout"].clone()
        };
        let marks: Vec<Value> = names(4).into_iter().map(mark).filter(Value::is_string).collect();
        let by = |mark: &Value| serde_json::from_str::<Value>(mark.as_str().unwrap()).unwrap()["rollout"].to_string();
        let movers: BTreeSet<String> = marks.iter().map(by).collect();
        assert!(movers.len() <= begun, "{marks:#?}");
        for name in &rollouts {
            // The API server refuses the deletion of a rollout in progress.
            let over = json!({"status": {"phase": "Aborted"}}).to_string();
            ctx.call(Method::PATCH, &format!("{}/status", path(name)), Some((MERGE, over))).ok();
            ctx.call(Method::DELETE, &path(name), None).ok();
        }
        for name in names(4) {
            let (label, annotations) = (ctx.label_key(), json!({"pointsman.dev/rollout": null}));
            let as_before = json!({"metadata": {"labels": {label: A}, "annotations": annotations}});
            ctx.patch(ctx.sample.new, &name, &as_before).ok();
        }
    }
}

fn adopted(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&names(30), None);
    let content = |name: &str| {
        let mut object = ctx.get(ctx.sample.new, name).ok();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.retain(|member, _| !["resourceVersion", "managedFields", "labels"].contains(&member.as_str()));
        metadata["annotations"].as_object_mut().map(|all| all.remove("pointsman.dev/rollout"));
        object.as_object_mut().unwrap().remove("status");
        object
    };
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let annotate = json!({"metadata": {"annotations": {"own": "text"}}});
    names(30).iter().for_each(|name| drop(ctx.patch(ctx.sample.new, name, &annotate).ok()));
    let before: Vec<Value> = names(30).iter().map(|name| content(name)).collect();
    ctx.starts_rollout(&json!({"from": null, "to": A, "waves": [{"name": "all", "maxInFlight": 10}]}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.versions(), [(A.to_owned(), 30)].into());
    let after: Vec<Value> = names(30).iter().map(|name| content(name)).collect();
    // The controller starts no rollout either: the hash covers the spec and an annotation, which is compared as well.
    assert_eq!(before, after, "nothing else of them has changed");
    ctx.forgets_rollout();
}

/// The API server and both webhooks check every first write in a dry run.
fn planned(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    begins(ctx, 7);
    for name in ["weak-0", "weak-1"] {
        let mut object = ctx.labelled(new, name, Some(A));
        object["spec"]["power"] = json!(20);
        ctx.create(new, &object).ok();
    }
    ctx.create(new, &ctx.labelled(new, "promoting", Some(A))).ok();
    let promoting = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Promoting"}]}});
    ctx.patch(new, "promoting/status", &promoting).ok();
    ctx.apply(new, "applied", &ctx.labelled(new, "applied", Some(A)), "kustomize-controller").ok();
    ctx.create(new, &ctx.object(new, "unlabelled")).ok();
    for name in ["weak-0", "weak-1", "applied", "unlabelled"] {
        ctx.report(name, true);
    }
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let versions = || -> Vec<Value> {
        let list = ctx.list(new).ok();
        list["items"].as_array().unwrap().iter().map(|one| one["metadata"]["resourceVersion"].clone()).collect()
    };
    let before = versions();
    let file = ctx.rollout_file(&json!({})).display().to_string();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, |_, _, _| Fate::Pass);
    let through = format!("--kubeconfig={}", ctx.through(proxy.port).display());
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", &file, "--server", &through]);
    assert_eq!(code, 1, "{text}{errors}");
    let writes: Vec<String> = proxy.calls().into_iter().filter(|call| !call.starts_with("GET ")).collect();
    planned_lately(ctx, &file, &text);
    // One request for each object to be moved, and no others.
    assert_eq!(writes.len(), 10, "{writes:#?}");
    assert!(writes.iter().all(|call| call.starts_with("PATCH ") && call.contains("dryRun=All")), "{writes:#?}");
    assert!(text.contains("\nmove 7, refused 2, waiting 1, held 1, outside 1; unhealthy now: 0\n"), "{text}");
    assert!(text.contains("the path permits an undo\n"), "{text}");
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    for name in ["weak-0", "weak-1"] {
        let why = "spec.power: Invalid value: 20: must be greater than or equal to 50";
        assert!(line(name).contains("Refused") && line(name).contains(why), "{text}");
    }
    assert!(line("promoting").contains("Waiting"), "{text}");
    assert!(line("promoting").contains("2.16.0 is promoting this object"), "{text}");
    assert!(line("applied").ends_with("Held      kustomize-controller"), "{text}");
    assert!(line("unlabelled").contains("Outside"), "{text}");
    assert_eq!(versions(), before, "all of them are quiet");
    let (_, json, _) = ctx.command(&["rollout", "plan", "-f", &file, "-o", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    // Without --server there are no dry runs: the plan contains visible problems only.
    assert_eq!((&json["moves"], &json["stays"], &json["dryRuns"]), (&json!(10), &json!(2), &json!(0)));
    let (code, page, errors) = ctx.command(&["rollout", "plan", "-f", &file, "--server", "-o", "html"]);
    assert_eq!(code, 1, "{page}{errors}");
    let lines: Vec<&str> = page.lines().filter(|line| line.contains(&format!(">{}/", ctx.ns))).collect();
    let stopping = lines.iter().filter(|line| line.contains("class=\"stop\"")).count();
    assert_eq!((lines.len(), stopping), (12, 5), "{page}");
    assert!(page.contains("<li>move 7, refused 2, waiting 1, held 1, outside 1; unhealthy now: 0</li>"), "{page}");
    // The page names its cluster, and loads nothing.
    let (_, origin) = page.split_once("<p class=\"origin\">cluster ").expect("the cluster");
    let address = origin.split(',').next().unwrap();
    assert!(address.starts_with("https://127.0.0.1:"), "{address}");
    let page = page.replacen(address, "", 1);
    for elsewhere in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert_eq!(versions(), before, "all of them are quiet");
}

/// A plan directly after the CRD of StagedRollouts was applied.
fn planned_lately(ctx: &TestContext<'_>, file: &str, plan: &str) {
    let lately = Proxy::start(&ctx.test_cluster.api.client, |at, _, _| match at {
        0 => Fate::Answer(429, Some(1), status(429, "storage is (re)initializing")),
        _ => Fate::Pass,
    });
    let through = format!("--kubeconfig={}", ctx.through(lately.port).display());
    let (_, again, errors) = ctx.command(&["rollout", "plan", "-f", file, "--server", &through]);
    assert_eq!(again, plan, "{errors}");
    assert!(errors.contains("storage is (re)initializing (HTTP 429); retrying in 1 s"), "{errors}");
}

fn taken_back(ctx: &TestContext<'_>) {
    begins(ctx, 6);
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |name, version| Some(name != "e-04" || version != B));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 1}], "timeout": "6s", "onFailure": "UndoAll"}));
    let ((code, text, errors), heard) = servers.answered(|| ctx.runs_rollout(&[]));
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains("Aborted: every object with a rollout annotation has its earlier version"), "{text}");
    let (there, mut home) = (names(5), names(5));
    home.reverse();
    assert_eq!(ctx.rollout_writes(), [there, home].concat());
    for server in ["A", "B"] {
        let judged = heard.split("; ").find_map(|of| of.strip_prefix(&format!("{server}: "))).unwrap_or_default();
        let allowed = judged.split("validate allow x").nth(1).map(|rest| rest.split([',', '+']).next().unwrap());
        let allowed: usize = allowed.and_then(|count| count.parse().ok()).unwrap_or_default();
        assert!(allowed >= 10 && !heard.contains("deny"), "{server} judged each flip: {heard}");
    }
    assert_eq!(ctx.versions(), [(A.to_owned(), 6)].into());
    for name in names(6) {
        let object = ctx.get(ctx.sample.new, &name).ok();
        assert_eq!(object["metadata"]["annotations"]["pointsman.dev/rollout"], Value::Null, "{object}");
    }
    assert_eq!(ctx.rollout_status()["history"][0]["state"], "Partial");
    ctx.forgets_rollout();
}

fn one_way(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&names(2), Some(B));
    let members = json!({"from": B, "to": C});
    let file = ctx.rollout_file(&members).display().to_string();
    let (code, text, errors) = ctx.command(&["rollout", "start", "-f", &file]);
    assert_eq!(code, 1, "{text}{errors}");
    assert!(errors.contains("no way back: no downgrade from 2.18.0 to 2.17.0 is allowed"), "{errors}");
    assert!(errors.contains("acceptedRisks: [no-way-back]"), "{errors}");
    // If the rollout was applied without the command, `run` reports the refusal.
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    ctx.kubectl(&["apply"], &document);
    let (code, text, _) = ctx.runs_rollout(&[]);
    assert_eq!((code, text.contains("Refused: no way back")), (1, true), "{text}");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let mut accepted = document;
    accepted["spec"]["acceptedRisks"] = json!(["no-way-back"]);
    ctx.kubectl(&["apply"], &accepted);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.rollout_status()["history"][0]["accepted"], json!(["no-way-back"]));
    assert_eq!(ctx.versions(), [(C.to_owned(), 2)].into());
    ctx.forgets_rollout();
}

/// The window opens half a day from now, for one hour.
fn closed(ctx: &TestContext<'_>) {
    begins(ctx, 2);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 3600;
    let hour = |hours: u64| format!("{:02}:00", (now + hours) % 24);
    let window = |from: String, to: String| json!([{"from": from, "to": to, "zone": "Etc/UTC"}]);
    let file = ctx.rollout_file(&json!({"windows": window(hour(12), hour(13))}));
    let (_, text, errors) = ctx.command(&["rollout", "plan", "-f", &file.display().to_string()]);
    assert!(text.contains("no object would move now: waiting for the next window: daily "), "{text}{errors}");
    let unknown =
        ctx.rollout_file(&json!({"name": "nowhere", "windows": [{"from": "00:00", "to": "24:00", "zone": "Mars"}]}));
    let (code, _, errors) = ctx.command(&["rollout", "start", "-f", &unknown.display().to_string()]);
    assert_eq!((code, errors.contains("unknown time zone \"Mars\"")), (1, true), "{errors}");
    ctx.commanded(&["rollout", "start", "-f", &file.display().to_string()]);
    let (code, text, errors) = ctx.runs_rollout(&["--once"]);
    assert_eq!(code, 0, "{text}{errors}");
    let status = ctx.rollout_status();
    assert_eq!((&status["phase"], count(ctx, B)), (&json!("Waiting"), 0), "{status}");
    assert!(status["message"].as_str().unwrap().contains("waiting for the next window"), "{status}");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"windows": window(hour(23), hour(2))}));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!((code, count(ctx, B)), (0, 2), "{text}{errors}");
    ctx.forgets_rollout();
}

fn down(ctx: &TestContext<'_>) {
    begins(ctx, 6);
    let mut servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": 2}], "timeout": "2m"}));
    let mut running = ctx.rollouts_on("one");
    ctx.eventually(|| (count(ctx, B) >= 2).then_some(()));
    servers.servers[1].running = None;
    let status = ctx.rollout_says("APIError");
    assert_eq!(status["phase"], "Waiting");
    assert!(status["message"].as_str().unwrap().contains("failed calling webhook"), "{status}");
    assert!(status["inFlight"].as_array().unwrap().len() <= 2, "{status}");
    servers.servers[1].running = Some(Pointsman::start(&servers.servers[1].setup));
    assert_eq!(running.end(SOON), Some(0));
    assert_eq!(ctx.versions(), [(B.to_owned(), 6)].into());
    ctx.forgets_rollout();
}

/// An in-flight object is deleted and recreated under its name before the move.
fn made_again(ctx: &TestContext<'_>) {
    begins(ctx, 1);
    let policy = freeze(ctx);
    ctx.starts_rollout(&json!({}));
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("cannot be moved");
    let uid = |ctx: &TestContext<'_>| ctx.get(ctx.sample.new, "e-00").ok()["metadata"]["uid"].clone();
    let before = uid(ctx);
    ctx.delete(ctx.sample.new, "e-00").ok();
    ctx.engines(&names(1), Some(A));
    assert_ne!(uid(ctx), before);
    assert_eq!(ctx.rollout_writes().len(), 0);
    ctx.kubectl(&["delete"], &policy);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    // Planned again, and moved once.
    assert_eq!(running.end(SOON), Some(0));
    assert_eq!(ctx.rollout_writes(), ["e-00"]);
    assert_eq!(ctx.names(ctx.sample.new), ["e-00"], "no skeleton was made");
    ctx.forgets_rollout();
}

/// The same while the write is in flight: the write belongs to the deleted object.
fn replaced(ctx: &TestContext<'_>) {
    begins(ctx, 1);
    let one = format!("/{}/e-00?", ctx.sample.plural);
    let is_move = move |call: &str| call.starts_with("PATCH ") && call.contains(&one) && !call.contains("dryRun");
    let (moves, is_first) = (is_move.clone(), AtomicBool::new(true));
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, path| {
        match moves(&format!("{method} {path}")) && is_first.swap(false, Ordering::Relaxed) {
            true => Fate::HeldBefore,
            false => Fate::Pass,
        }
    });
    ctx.starts_rollout(&json!({}));
    let mut running = ctx.rollouts_through("one", &ctx.through(proxy.port));
    ctx.eventually(|| proxy.calls().iter().any(|call| is_move(call)).then_some(()));
    ctx.delete(ctx.sample.new, "e-00").ok();
    ctx.engines(&names(1), Some(A));
    let there = ctx.get(ctx.sample.new, "e-00").ok();
    proxy.release();
    let said = format!("{}/e-00 was replaced or moved by another client", ctx.ns);
    let log = || std::fs::read_to_string(ctx.dir.join("one.log")).unwrap();
    ctx.eventually(|| log().contains(&said).then_some(()));
    let audit = ctx.test_cluster.audit();
    let codes: Vec<&Value> = audit
        .iter()
        .filter(|event| event["verb"] == "patch" && event["objectRef"]["namespace"] == ctx.ns.as_str())
        .filter(|event| {
            let asked = event["requestURI"].as_str();
            asked.is_some_and(|uri| uri.contains("pointsman-rollout") && !uri.contains("dryRun=All"))
        })
        .map(|event| &event["responseStatus"]["code"])
        .collect();
    assert_eq!(codes[0], 422, "{codes:?}");
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    // Planned again, and moved once.
    assert_eq!(running.end(SOON), Some(0));
    assert_eq!(ctx.rollout_writes(), ["e-00"]);
    let moved = ctx.get(ctx.sample.new, "e-00").ok();
    assert_eq!(moved["metadata"]["uid"], there["metadata"]["uid"]);
    assert_eq!(ctx.names(ctx.sample.new), ["e-00"], "no skeleton was made");
    ctx.forgets_rollout();
}

/// Refuses changes of the label.
fn freeze(ctx: &TestContext<'_>) -> Value {
    let name = format!("{}-frozen", ctx.ns);
    let rule = json!({
        "apiGroups": [ctx.group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [ctx.sample.plural],
    });
    let expression = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})";
    let policy = json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": expression, "message": "labels are frozen"}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]});
    ctx.kubectl(&["apply"], &policy);
    let path = format!("{}?dryRun=All", ctx.one(ctx.sample.new, "e-00"));
    let patch = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
    ctx.eventually(|| (!ctx.call(Method::PATCH, &path, Some((MERGE, patch.clone()))).is_ok()).then_some(()));
    policy
}
