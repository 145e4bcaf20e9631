//! A hand-over controlled by a fact, on the real API server and a second API server for the shoots. Tests the waits,
//! the order, and that no shoot is finished before every Deployment has its final state.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::mutations::facts::{FINISHED, NAMES, NEEDS_COMPLETE, commands, generation, offline};
use crate::rollouts::kinds::killed_after_each_write;
use crate::scenario::Scenario;
use crate::support::balancer::Balancer;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::garden::{Landscape, of_example};
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::process::{Process, SOON, eventually, free_port};
use crate::support::proxy::{Fate, Proxy};
use crate::support::sample::{SHOOT, Sample};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("shoots_are_handed_over_safely", whole).of(&SHOOTS).newest().handing_over(),
    Scenario::new("unready_shoot_is_waited_for", waits).of(&SHOOTS).newest().handing_over(),
    Scenario::new("uninformed_server_blocks_finish", behind).of(&SHOOTS).newest().handing_over(),
    Scenario::new("one_uninformed_server_finishes_nothing", one_of_two).of(&SHOOTS).newest().handing_over(),
    Scenario::new("killed_handover_finishes_alike", killed).of(&SHOOTS).newest().handing_over(),
];

static SHOOTS: [&Sample; 1] = [&SHOOT];

/// Checks that all Deployments of a shoot match this value of the fact.
#[track_caller]
fn are(garden: &Landscape<'_>, full: &str, fact: &str) {
    for name in NAMES {
        let now = commands(&garden.deployment(full, name));
        assert_eq!(now, offline(garden.ctx, &of_example(name, full), fact), "{full}/{name}");
    }
}

fn status(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.call_get(&format!("/apis/pointsman.dev/v1/stagedrollouts/{name}"))["status"].clone()
}

/// Starts a rollout in a separate process.
fn runs(ctx: &TestContext<'_>, name: &str) -> Process {
    let namespace = format!("--namespace={}", ctx.ns);
    let args = ctx.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace]);
    ctx.started(&format!("runs-{name}"), &args)
}

#[track_caller]
fn is_complete(ctx: &TestContext<'_>, name: &str) {
    let place = std::panic::Location::caller();
    let mut last = Value::Null;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(240) {
        last = status(ctx, name);
        if last["phase"] == "Complete" {
            return;
        }
        sleep(Duration::from_millis(300));
    }
    panic!("{place}: {last:#}");
}

/// The message of the rollout for a blocked object.
fn unmoved(ctx: &TestContext<'_>, rollout: &str, full: &str) -> String {
    let status = status(ctx, rollout);
    let all = status["blocked"].as_array().cloned().unwrap_or_default();
    let one = all.iter().find(|one| one["object"] == full);
    one.map(|one| format!("{}: {}", one["state"].as_str().unwrap(), one["message"].as_str().unwrap()))
        .unwrap_or_default()
}

/// Accepted patches of Deployments by rollouts, by namespace and name.
fn sent(ctx: &TestContext<'_>) -> Vec<String> {
    let is_one = |event: &&Value| {
        event["verb"] == "patch"
            && event["objectRef"]["resource"] == "deployments"
            && event["responseStatus"]["code"] == 200
            && event["requestURI"].as_str().is_some_and(|uri| uri.contains("pointsman-rollout"))
    };
    let title = |event: &Value| {
        let of = &event["objectRef"];
        format!("{}/{}", of["namespace"].as_str().unwrap(), of["name"].as_str().unwrap())
    };
    // Only shoots of this scenario.
    let own = format!("{}-", ctx.ns);
    ctx.test_cluster.audit().iter().filter(is_one).map(title).filter(|title| title.starts_with(&own)).collect()
}

/// S40 and S43, and the second run of S44.
fn whole(ctx: &TestContext<'_>) {
    let garden = Landscape::begins(ctx, &ctx.test_cluster.api.kubeconfig);
    garden.node("new", "v1.18.20");
    garden.class("default", "kubernetes.io/aws-ebs");
    garden.class("gp2", "ebs.csi.aws.com");
    garden.class("mine", "kubernetes.io/aws-ebs");
    let old = garden.plants("old", &json!({}));
    let failed = garden.plants("failed", &json!({"status": {"lastOperation": {"state": "Failed"}}}));
    let new = garden.plants_new("new", &json!({}));
    are(&garden, &old, "false");
    let before: Vec<Value> = NAMES.iter().map(|name| garden.deployment(&old, name)).collect();

    garden.rollouts(&ctx.ns, &json!({"waves": [{"name": "all", "maxInFlight": 3}]}));
    let mut process = runs(ctx, &ctx.ns);
    is_complete(ctx, &ctx.ns);
    process.end(Duration::from_secs(10));
    are(&garden, &old, "true");
    for (name, before) in NAMES.iter().zip(&before) {
        assert_eq!(generation(&garden.deployment(&old, name)), generation(before) + 1, "{name}");
    }
    for full in [&old, &new] {
        assert!(garden.says(full, NEEDS_COMPLETE) && garden.says(full, FINISHED), "{full}");
    }
    // Failed shoots stay unchanged, and so do storage classes of another type or without a listed name.
    assert_eq!(garden.cluster(&failed)["metadata"]["annotations"], Value::Null);
    are(&garden, &failed, "false");
    assert_eq!(garden.classes(), ["gp2", "mine"]);
    let mut touched = sent(ctx);
    touched.dedup();
    assert_eq!(touched, NAMES.map(|name| format!("{old}/{name}")), "no other Deployment is sent");

    // A second rollout over the same shoots writes only its own status.
    let was = |full: &str| garden.cluster(full)["metadata"]["resourceVersion"].clone();
    let versions = [&old, &failed, &new].map(|full| was(full));
    let (again, count) = (format!("{}-again", ctx.ns), sent(ctx).len());
    garden.rollouts(&again, &json!({}));
    let mut process = runs(ctx, &again);
    is_complete(ctx, &again);
    process.end(Duration::from_secs(10));
    assert_eq!([&old, &failed, &new].map(|full| was(full)), versions);
    assert_eq!(sent(ctx).len(), count);
    garden.ends(&[&ctx.ns, &again]);
}

/// Shoots that each wait for another cause. One hibernates, one is unreachable, and one has expired credentials. One
/// has a kubeconfig with an exec plugin, and one has an old node and is reached through a proxy.
fn in_trouble(garden: &Landscape<'_>) -> ([String; 5], Proxy) {
    garden.node("new", "v1.18.20");
    garden.node("old", "v1.17.9");
    garden.class("default", "kubernetes.io/aws-ebs");
    let asleep = garden.plants("asleep", &json!({"spec": {"hibernation": {"enabled": true}}}));
    let [away, dead, exec, old] = ["away", "dead", "exec", "old"].map(|name| garden.plants(name, &json!({})));
    let way = garden.kubeconfig();
    garden.knows_way(&away, &way.replace("https://127.0.0.1:", "https://127.0.0.2:"));
    garden.knows_way(&dead, &way.replace("secret-token", "no-token"));
    let program = "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}";
    garden.knows_way(&exec, &way.replace("token: secret-token", program));
    let through = Proxy::start(&garden.shoot.client, |_, _, _| Fate::Pass);
    let by_proxy = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n\
         clusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:{}'}}}}]\nusers: [{{name: it, user: {{token: \
         secret-token}}}}]\n",
        through.port
    );
    garden.knows_way(&old, &by_proxy);
    ([asleep, away, dead, exec, old], through)
}

/// The message of each waiting shoot.
const WORDS: [&str; 5] = [
    "step awake: spec.shoot.spec.hibernation.enabled is true",
    "step new-nodes: nodes in the cluster of secret",
    "its credentials have expired",
    "the kubeconfig runs a program",
    "old: status.nodeInfo.kubeletVersion is \"v1.17.9\", and must be at least \"1.18.0\"",
];

/// S42.
fn waits(ctx: &TestContext<'_>) {
    let garden = Landscape::begins(ctx, &ctx.test_cluster.api.kubeconfig);
    let (all, through) = in_trouble(&garden);
    garden.rollouts(&ctx.ns, &json!({}));
    let mut process = runs(ctx, &ctx.ns);
    for (full, said) in all.iter().zip(WORDS) {
        let mut last = String::new();
        eventually(&format!("{full}: {said}"), SOON, || {
            last = unmoved(ctx, &ctx.ns, full);
            (last.starts_with("Waiting: ") && last.contains(said)).then_some(())
        });
        assert!(!garden.says(full, NEEDS_COMPLETE), "{full}: {last}");
    }
    assert_eq!(status(ctx, &ctx.ns)["phase"], "Waiting");
    assert_eq!(garden.classes(), ["default"]);
    // The rollout queries the clusters rarely.
    let asked = through.calls().len();
    sleep(Duration::from_secs(25));
    let more = through.calls().len() - asked;
    assert!(more <= 1, "{more} more in 25 s: {:?}", through.calls());
    each_goes_on(&garden, &all);
    is_complete(ctx, &ctx.ns);
    process.end(Duration::from_secs(10));
    all.iter().for_each(|full| are(&garden, full, "true"));
    garden.ends(&[&ctx.ns]);
}

/// Each shoot proceeds once its blocker is removed.
fn each_goes_on(garden: &Landscape<'_>, all: &[String; 5]) {
    let [asleep, away, dead, exec, old] = all;
    let goes_on = |full: &String| {
        eventually(&format!("{full} goes on"), SOON, || garden.says(full, NEEDS_COMPLETE).then_some(()));
    };
    let patch = json!({"status": {"nodeInfo": {"kubeletVersion": "v1.18.20"}}}).to_string();
    garden.shoot.client.call(Method::PATCH, "/api/v1/nodes/old/status", Some((MERGE, patch))).ok();
    goes_on(old);
    assert_eq!(garden.classes(), Vec::<String>::new());
    garden.changes(asleep, &json!({"spec": {"hibernation": {"enabled": false}}}));
    [away, dead, exec].iter().for_each(|full| garden.knows_way(full, &garden.kubeconfig()));
    // The earlier shoot stays in flight until it was healthy for a minute.
    let more = json!({"spec": {"waves": [{"name": "all", "maxInFlight": 5}]}}).to_string();
    let rollout = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", garden.ctx.ns);
    garden.ctx.call(Method::PATCH, &rollout, Some((MERGE, more))).ok();
    [asleep, away, dead, exec].into_iter().for_each(goes_on);
}

/// A proxy between a server and the API server that delays the events about facts.
fn hears_late(ctx: &TestContext<'_>) -> Proxy {
    Proxy::start(&ctx.test_cluster.api.client, |_, _, path| match path.contains("watch=") {
        true => Fate::HeldBefore,
        false => Fate::Pass,
    })
}

/// A shoot whose Deployments are written without effect, and the process that writes them.
fn sent_in_vain(garden: &Landscape<'_>) -> (String, Process) {
    garden.node("new", "v1.18.20");
    let one = garden.plants("one", &json!({}));
    are(garden, &one, "false");
    garden.rollouts(&garden.ctx.ns, &json!({}));
    let process = runs(garden.ctx, &garden.ctx.ns);
    eventually("it is sent in vain", SOON, || (sent(garden.ctx).len() >= 3).then_some(()));
    (one, process)
}

/// S41.
fn behind(ctx: &TestContext<'_>) {
    let proxy = hears_late(ctx);
    let garden = Landscape::begins(ctx, &ctx.through(proxy.port));
    let (one, mut process) = sent_in_vain(&garden);
    assert!(garden.says(&one, NEEDS_COMPLETE) && !garden.says(&one, FINISHED));
    are(&garden, &one, "false");
    let said = std::fs::read_to_string(ctx.log_of(&format!("runs-{}", ctx.ns))).unwrap();
    assert!(said.contains("not mutated: spec.template.spec.containers"), "{said}");
    proxy.release();
    eventually("it is finished", SOON, || garden.says(&one, FINISHED).then_some(()));
    are(&garden, &one, "true");
    process.interrupt();
    process.end(Duration::from_secs(10));
    garden.ends(&[&ctx.ns]);
}

/// S41: one of two servers receives no events about facts, and both servers receive calls.
fn one_of_two(ctx: &TestContext<'_>) {
    let proxy = hears_late(ctx);
    let garden = Landscape::begins(ctx, &ctx.test_cluster.api.kubeconfig);
    ctx.stop_pointsman();
    let balancer = Balancer::start(ctx.setup.port);
    let starts = |kubeconfig: &Path, log: &str| {
        let mut setup = Setup { port: free_port(), log: ctx.log_of(log), ..ctx.setup.clone() };
        setup.flags.push(format!("--kubeconfig={}", kubeconfig.display()));
        Pointsman::start(&setup)
    };
    let (behind, ahead) =
        (starts(&ctx.through(proxy.port), "behind"), starts(&ctx.test_cluster.api.kubeconfig, "ahead"));
    balancer.set(&[behind.backend()]);
    let (one, mut process) = sent_in_vain(&garden);
    balancer.set(&[behind.backend(), ahead.backend()]);
    eventually("it is finished", SOON, || {
        balancer.breaks();
        sleep(Duration::from_millis(700));
        garden.says(&one, FINISHED).then_some(())
    });
    // The finished shoot had all Deployments changed, though one server still reverts them.
    are(&garden, &one, "true");
    process.interrupt();
    process.end(Duration::from_secs(10));
    garden.ends(&[&ctx.ns]);
    proxy.release();
    ctx.keep((balancer, behind, ahead));
}

/// S44.
fn killed(ctx: &TestContext<'_>) {
    let garden = Landscape::begins(ctx, &ctx.test_cluster.api.kubeconfig);
    garden.node("new", "v1.18.20");
    garden.class("default", "kubernetes.io/aws-ebs");
    garden.class("gp2", "kubernetes.io/aws-ebs");
    let one = garden.plants("one", &json!({}));
    let before: Vec<Value> = NAMES.iter().map(|name| garden.deployment(&one, name)).collect();
    garden.rollouts(&ctx.ns, &json!({}));
    let writes = killed_after_each_write(ctx, &ctx.ns, usize::MAX, || garden.says(&one, FINISHED));
    assert!(writes.len() > 8, "{writes:#?}");
    are(&garden, &one, "true");
    for (name, before) in NAMES.iter().zip(&before) {
        assert_eq!(generation(&garden.deployment(&one, name)), generation(before) + 1, "{name}: {writes:#?}");
    }
    assert_eq!(garden.classes(), Vec::<String>::new());
    garden.ends(&[&ctx.ns]);
}
