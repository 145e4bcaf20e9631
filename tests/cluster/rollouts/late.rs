//! Writes of a rollout that an API server processes long after the client has timed out, while the rollout is undone.
//! The controllers of Kubernetes are real.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollouts::kinds::{before, goes, is_as_before, starts, status};
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::fake_operators::FakeOperators;
use crate::support::process::{Process, SOON, eventually};
use crate::support::proxy::{Fate, Proxy};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, MATTERMOST, Sample};
use crate::support::side_by_side::A;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("late_move_is_reverted", moved).of(&ENGINES).newest(),
    Scenario::new("late_handover_or_delete_loses_nothing", handed_over)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
];

static ENGINES: [&Sample; 1] = [&ENGINE];
static MATTERMOSTS: [&Sample; 1] = [&MATTERMOST];

/// The delay: longer than an undo takes, and shorter than the runner's wait for certainty.
const LATE: Duration = Duration::from_secs(20);

/// A proxy that loses the first call with this method and path part, before the API server receives the call.
fn loses(ctx: &TestContext<'_>, method: Method, part: String) -> Proxy {
    let was_lost = AtomicBool::new(false);
    Proxy::start(&ctx.test_cluster.api.client, move |_, asked, path| {
        let is_it = *asked == method && path.contains(&part) && !path.contains("dryRun=All");
        if is_it && !was_lost.swap(true, Ordering::Relaxed) { Fate::CutAndLate(LATE) } else { Fate::Pass }
    })
}

/// A rollout whose runner waits for an unacknowledged write.
struct Waiting {
    rollout: String,
    running: Process,
    /// The lost write passes through this proxy, late.
    _proxy: Proxy,
}

impl Waiting {
    /// Undoes the rollout, once its message names the write.
    fn turns(&self, ctx: &TestContext<'_>, lost: &str) {
        let said = || status(ctx, &self.rollout)["message"].as_str().is_some_and(|message| message.contains(lost));
        eventually("it waits", SOON, || said().then_some(()));
        goes(ctx, &self.rollout, "Undo");
    }

    fn is_taken_back(&mut self, ctx: &TestContext<'_>) {
        eventually("it is taken back", SOON, || (status(ctx, &self.rollout)["phase"] == "Aborted").then_some(()));
        assert_eq!(self.running.end(SOON), Some(0));
    }
}

fn moved(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names = ["e-00", "e-01"].map(str::to_owned);
    ctx.engines(&names, Some(A));
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let proxy = loses(ctx, Method::PATCH, format!("/{}/e-00", ctx.sample.plural));
    ctx.starts_rollout(&json!({}));
    let running = ctx.rollouts_through("one", &ctx.through(proxy.port));
    let mut waiting = Waiting { rollout: ctx.ns.clone(), running, _proxy: proxy };
    waiting.turns(ctx, "e-00: the change was requested, and its result is unknown");
    waiting.is_taken_back(ctx);
    let moved = ctx.rollout_writes();
    assert_eq!(moved, ["e-00", "e-00"], "the object moved and was reverted");
    assert_eq!(ctx.versions(), [(A.to_owned(), 2)].into());
    for name in names {
        let object = ctx.get(ctx.sample.new, &name).ok();
        assert_eq!(object["metadata"]["annotations"]["pointsman.dev/rollout"], Value::Null, "{object}");
    }
    ctx.forgets_rollout();
}

/// The number of such changes of an object by a rollout, in the audit log.
fn done(ctx: &TestContext<'_>, (method, plural, name): (&str, &str, &str)) -> usize {
    let is_it = |event: &&Value| {
        let of = &event["objectRef"];
        event["verb"] == method.to_lowercase()
            && (&of["resource"], &of["namespace"], &of["name"]) == (&json!(plural), &json!(ctx.ns), &json!(name))
            && event["responseStatus"]["code"] == 200
            && (method == "DELETE" || event["requestURI"].as_str().is_some_and(|uri| uri.contains("pointsman-rollout")))
    };
    ctx.test_cluster.audit().iter().filter(is_it).count()
}

/// The late write must do no harm. An object handed over to a deleted owner would be collected. An object deleted in
/// favour of a replacement that is no longer created would be missing.
fn handed_over(ctx: &TestContext<'_>) {
    let fake_operators = FakeOperators::begins(ctx);
    let lost = [
        ("mm-abcd", Method::PATCH, "services", "change"),
        ("mm-efgh", Method::PATCH, "persistentvolumeclaims", "change"),
        ("mm-ijkl", Method::DELETE, "deployments", "deletion"),
    ];
    let mut all = Vec::new();
    for (name, method, plural, word) in &lost {
        let (method, plural) = (method.clone(), *plural);
        ctx.installs(name, &json!({}));
        ctx.serves(&fake_operators, name);
        let was = before(ctx, name);
        let rollout = format!("{}-{name}", ctx.ns);
        let proxy = loses(ctx, method, format!("/{plural}/{name}"));
        starts(ctx, &rollout, &json!({"selector": {"labels": format!("one={name}")}}));
        let kubeconfig = format!("--kubeconfig={}", ctx.through(proxy.port).display());
        let namespace = format!("--namespace={}", ctx.ns);
        let args = ctx.on_the_cluster(&["rollout", "run", &rollout, "--holder=test", &namespace, &kubeconfig]);
        let waiting = Waiting { rollout, running: ctx.started(name, &args), _proxy: proxy };
        all.push((name, was, waiting, format!("the {word} was requested, and its result is unknown")));
    }
    all.iter().for_each(|(_, _, waiting, lost)| waiting.turns(ctx, lost));
    for (name, was, waiting, _) in &mut all {
        waiting.is_taken_back(ctx);
        is_as_before(ctx, &fake_operators, name, was);
    }
    for (name, method, plural, _) in &lost {
        assert!(done(ctx, (method.as_str(), plural, name)) > 0, "{plural} {name} were written late, and put back");
    }
    let rollouts: Vec<&str> = all.iter().map(|(_, _, waiting, _)| waiting.rollout.as_str()).collect();
    ctx.leaves_fake_operators(&rollouts);
}
