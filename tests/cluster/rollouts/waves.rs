//! The waits of a rollout between its waves.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("wave_starts_after_approval_and_checks", waits).of(&ENGINES).newest()];

const JSON: &str = "application/json";

/// A cluster with a canary and two other healthy engines at A, whose definition checks a ConfigMap before a rollout
/// begins.
fn begins(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let check = format!(
        "{{name: notes, list: configmaps, namespace: {}, where: watched=yes, every: {{field: data.ready, in: [\"yes\"]}}}}",
        ctx.ns
    );
    fs::write(&file, format!("{definition}\nchecks:\n  start: [{check}]\n")).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&["e-00", "e-01", "e-02"].map(str::to_owned), Some(A));
    ctx.patch(ctx.sample.new, "e-01", &json!({"metadata": {"labels": {"rollout": "canary"}}})).ok();
    let note = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note", "labels": {"watched": "yes"}},
        "data": {"ready": "yes"},
    });
    let all = format!("/api/v1/namespaces/{}/configmaps", ctx.ns);
    assert_eq!(ctx.call(Method::POST, &all, Some((JSON, note.to_string()))).code, 201);
}

fn ready(ctx: &TestContext<'_>, ready: &str) {
    let one = format!("/api/v1/namespaces/{}/configmaps/note", ctx.ns);
    let said = json!({"data": {"ready": ready}}).to_string();
    assert_eq!(ctx.call(Method::PATCH, &one, Some((MERGE, said))).code, 200);
}

/// The response of the API server to a dry run of a StagedRollout with these fields in its first wave.
fn judged(ctx: &TestContext<'_>, more: &Value) -> (u16, String) {
    let mut wave = json!({"name": "canary", "selector": {"labels": "a=b"}});
    wave.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = json!({"kind": ctx.crd_name(), "to": B, "waves": [wave, {"name": "rest"}]});
    let name = format!("{}-tried", ctx.ns);
    let rollout =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": name}, "spec": spec});
    let answer =
        ctx.call(Method::POST, "/apis/pointsman.dev/v1/stagedrollouts?dryRun=All", Some((JSON, rollout.to_string())));
    (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
}

fn waits(ctx: &TestContext<'_>) {
    begins(ctx);
    for fine in [json!("approval"), json!({"wait": "10m"}), json!(["approval", "checks", {"wait": "10m"}])] {
        for side in ["before", "after"] {
            assert_eq!(judged(ctx, &json!({side: fine})), (201, String::new()), "{side} {fine}");
        }
    }
    for bad in [json!("sometime"), json!([]), json!(["checks", "checks", "checks", "checks"]), json!({})] {
        let (code, message) = judged(ctx, &json!({"before": bad}));
        assert!(code == 422 && message.contains("spec.waves[0].before"), "{bad}: {code} {message}");
    }
    let before = json!(["approval", "checks", {"wait": "2s"}]);
    let canary = json!({"name": "canary", "selector": {"labels": "rollout=canary"}});
    let waves = json!([canary, {"name": "rest", "maxInFlight": 2, "before": before}]);
    let file = ctx.rollout_file(&json!({"waves": waves})).display().to_string();
    let words = "before rest: 2s go by, the start checks pass again, an approval";
    let plan = ctx.commanded(&["rollout", "plan", "-f", &file]);
    assert!(plan.lines().any(|line| line == words), "{plan}");
    let page = ctx.commanded(&["rollout", "plan", "-f", &file, "-o", "html"]);
    assert!(page.contains("before: 2s go by, the start checks pass again, an approval"), "{page}");
    ctx.commanded(&["rollout", "start", "-f", &file]);
    under_way(ctx);
    ctx.forgets_rollout();
}

fn under_way(ctx: &TestContext<'_>) {
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let moved = || ctx.versions().get(B).copied().unwrap_or_default();
    let mut running = ctx.rollouts_on("one");
    let status = ctx.rollout_says("rest 0/2, before it: waiting for approval");
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Waiting"), &json!("Approval")));
    let metrics = ctx.does(&["list", "-o", "prometheus"]);
    assert!(metrics.contains("phase=\"Waiting\",reason=\"Approval\"} 1"), "{metrics}");
    let shown = ctx.does(&["status"]);
    for line in ["rest 0/2  <- before it", &format!("next      pointsman rollout approve {} rest --before", ctx.ns)] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    ctx.rollout_tells(&ctx.ns, "Approval", "before it");
    // The next runner has only the state in the StagedRollout.
    running.kill();
    ready(ctx, "no");
    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("notes: configmaps");
    assert_eq!(moved(), 1);
    assert_eq!(ctx.does(&["approve", "rest"]), format!("rollout {}: rest may begin\n", ctx.ns));
    let shut = ctx.rollout_says("Checks");
    let why = format!("before it: notes: configmaps {}/note: ", ctx.ns);
    assert!(shut["message"].as_str().unwrap().contains(&why), "{shut}");
    sleep(Duration::from_secs(6));
    assert_eq!(moved(), 1, "an unmet condition blocks the wave");
    ready(ctx, "yes");
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!((moved(), ctx.rollout_writes().len()), (3, 3));
    let late = ctx.refused(&["rollout", "approve", &ctx.ns, "rest"]);
    assert!(late.contains("is Complete: no approval is pending"), "{late}");
}
