//! The freezes of a rollout on the real API server: a freeze holds while no part of pointsman runs.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::access::each_right;
use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::process::eventually;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("freeze_lasts_without_any_server", frozen).of(&ENGINES).failing(),
    Scenario::new("frozen_resource_waits_for_version", bound).of(&ENGINES),
    Scenario::new("freeze_precedes_start", unfrozen).of(&ENGINES).newest(),
    Scenario::new("freeze_rights_are_exact", rights).of(&ENGINES).newest(),
    Scenario::new("missing_rollout_crd_freezes_nothing", forgotten).of(&ENGINES).alone(),
];

/// A cluster with two healthy engines.
fn begins(ctx: &TestContext<'_>) {
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    ctx.engines(&["e-00", "e-01"].map(str::to_owned), Some(A));
}

/// Freezes ConfigMaps, except for deletions, and Services with a label.
fn freeze(ctx: &TestContext<'_>) -> Value {
    json!({"timeout": "5m", "freeze": [
        {"resources": ["configmaps"], "operations": ["CREATE", "UPDATE"], "namespaces": [ctx.ns]},
        {"resources": ["services"], "namespaces": [ctx.ns], "labels": "app in (search), !free"},
    ]})
}

fn core(ctx: &TestContext<'_>, plural: &str) -> String {
    format!("/api/v1/namespaces/{}/{plural}", ctx.ns)
}

fn makes(ctx: &TestContext<'_>, name: &str) -> Answer {
    ctx.post(&core(ctx, "configmaps"), &json!({"metadata": {"name": name}}))
}

fn tries(ctx: &TestContext<'_>) -> Answer {
    ctx.post(&format!("{}?dryRun=All", core(ctx, "configmaps")), &json!({"metadata": {"name": "tried"}}))
}

fn service(name: &str, labels: &Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels}, "spec": {"ports": [{"port": 80}]}})
}

fn policy(ctx: &TestContext<'_>) -> [String; 2] {
    ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
        .map(|plural| format!("/apis/admissionregistration.k8s.io/v1/{plural}/pointsman-freeze.{}", ctx.ns))
}

/// The interval at which policies of an API server retry to find unknown kinds. `pkg/server/options/admission.go` of
/// k8s.io/apiserver.
const NEW_KINDS: Duration = Duration::from_secs(30);

/// The maximum remaining time until policies find StagedRollouts.
fn rollouts_are_new_for(ctx: &TestContext<'_>) -> Duration {
    NEW_KINDS.saturating_sub(ctx.test_cluster.rollouts_since.get().unwrap().elapsed())
}

/// Prints the time until the API server observed a change, once the API server knows StagedRollouts.
fn within_a_second(what: &str, new: Duration, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    eventually(what, new + Duration::from_secs(20), || is_so().then_some(()));
    let took = began.elapsed();
    println!("     {what} after {} ms", took.as_millis());
    // One second on an idle machine.
    assert!(took < new + Duration::from_secs(5), "{what} after {took:?}, and for {new:?} StagedRollouts were new");
}

fn frozen(ctx: &TestContext<'_>) {
    begins(ctx);
    ctx.post(&core(ctx, "services"), &service("there", &json!({"app": "search"}))).ok();
    let file = ctx.rollout_file(&freeze(ctx)).display().to_string();
    let plan = || ctx.command(&["rollout", "plan", "-f", &file, "--server"]);
    let (_, text, errors) = plan();
    let not_yet = format!(
        "frozen meanwhile: configmaps, services; not yet: ValidatingAdmissionPolicy \
                           pointsman-freeze.{} is missing; pointsman rollout start applies the policy\n",
        ctx.ns
    );
    assert!(text.contains(&not_yet), "{text}{errors}");
    ctx.commanded(&["rollout", "start", "-f", &file]);
    let (_, text, errors) = plan();
    assert!(text.contains("configmaps, services; the policy that refuses these writes exists\n"), "{text}{errors}");
    // No object is in flight.
    makes(ctx, "before").ok();

    let mut running = ctx.rollouts_on("one");
    ctx.rollout_says("in flight");
    within_a_second("frozen", rollouts_are_new_for(ctx), || !tries(ctx).is_ok());
    let said = makes(ctx, "meanwhile").fails(403);
    let words = format!(
        "rollout {} is Rolling: configmaps are frozen meanwhile; see pointsman rollout status {}",
        ctx.ns, ctx.ns
    );
    assert!(said.contains(&words), "{said}");
    refuses_what_it_names_and_nothing_else(ctx);
    // No part of pointsman runs.
    running.kill();
    ctx.stop_pointsman();
    std::thread::sleep(Duration::from_secs(2));
    tries(ctx).fails(403);

    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    within_a_second("thawed", Duration::ZERO, || tries(ctx).is_ok());
    makes(ctx, "after").ok();
    assert_eq!(ctx.versions(), [(B.to_owned(), 2)].into());
    assert_eq!(ctx.does(&["clean"]), format!("rollout {}: 2 objects cleaned\n", ctx.ns));
    for path in policy(ctx) {
        assert_eq!(ctx.call(Method::GET, &path, None).code, 404, "{path}");
    }
    ctx.forgets_rollout();
}

fn refuses_what_it_names_and_nothing_else(ctx: &TestContext<'_>) {
    let dry = |plural: &str| format!("{}?dryRun=All", core(ctx, plural));
    let patch = |path: &str, patch: Value| {
        ctx.call(Method::PATCH, &format!("{}{path}?dryRun=All", core(ctx, "")), Some((MERGE, patch.to_string())))
    };
    // Operations, namespaces, and labels before and after the write.
    patch("configmaps/before", json!({"data": {"a": "b"}})).fails(403);
    ctx.call(Method::DELETE, &dry("configmaps/before"), None).ok();
    ctx.post("/api/v1/namespaces/default/configmaps?dryRun=All", &json!({"metadata": {"name": "tried"}})).ok();
    ctx.post(&dry("services"), &service("new", &json!({"app": "search"}))).fails(403);
    ctx.post(&dry("services"), &service("new", &json!({"app": "other"}))).ok();
    ctx.post(&dry("services"), &service("new", &json!({"app": "search", "free": "yes"}))).ok();
    ctx.post(&dry("services"), &service("new", &json!(null))).ok();
    patch("services/there", json!({"metadata": {"labels": {"app": null}}})).fails(403);
    ctx.call(Method::DELETE, &dry("services/there"), None).fails(403);
    // Subresources are excluded.
    let condition = json!({
        "type": "example.com/seen", "status": "True", "reason": "Seen", "message": "",
        "lastTransitionTime": "2026-02-10T12:00:00Z",
    });
    patch("services/there/status", json!({"status": {"conditions": [condition]}})).ok();
    // The runner of the rollout is exempt.
    let runner =
        ["apply", "--as=system:serviceaccount:pointsman-system:pointsman-rollout", "--as-group=system:masters"];
    let own = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": ctx.ns},
    });
    ctx.kubectl(&runner, &own);
}

/// Creations need the new version, and deletions need the old version.
fn bound(ctx: &TestContext<'_>) {
    begins(ctx);
    let of = |operation: &str, what: &str, version: &str| json!({"resources": ["configmaps"], "operations": [operation], "namespaces": [ctx.ns], what: version});
    makes(ctx, "there").ok();
    let deletes = || ctx.call(Method::DELETE, &format!("{}?dryRun=All", core(ctx, "configmaps/there")), None);
    let freeze = json!([of("CREATE", "atLeast", B), of("DELETE", "atMost", A)]);
    ctx.starts_rollout(&json!({"timeout": "5m", "waves": [{"name": "all", "maxInFlight": 1}], "freeze": freeze}));
    eventually("frozen", rollouts_are_new_for(ctx) + Duration::from_secs(20), || (!tries(ctx).is_ok()).then_some(()));
    let said = tries(ctx).fails(403);
    assert!(said.contains("the lowest running version is unknown"), "{said}");
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    let words = format!(
        "rollout {}: configmaps wait until every object is at least 2.17.0; the lowest running version is 2.16.0",
        ctx.ns
    );
    ctx.eventually(|| tries(ctx).fails(403).contains(&words).then_some(()));
    let words = "until every object is at most 2.16.0; the highest running version is 2.17.0";
    ctx.eventually(|| deletes().fails(403).contains(words).then_some(()));
    assert!(ctx.does(&["status"]).contains("\n  runs      2.16.0 to 2.17.0\n"));
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    ctx.eventually(|| tries(ctx).is_ok().then_some(()));
    deletes().fails(403);
    // All objects are at the old version again.
    ctx.does(&["undo"]);
    ctx.runs_rollout(&[]);
    ctx.eventually(|| deletes().is_ok().then_some(()));
    tries(ctx).fails(403);
    ctx.does(&["clean"]);
    ctx.eventually(|| tries(ctx).is_ok().then_some(()));
    ctx.forgets_rollout();
}

fn unfrozen(ctx: &TestContext<'_>) {
    begins(ctx);
    let never = ctx.rollout_file(&json!({"name": "never", "freeze": [
        {"resources": ["deployments"]}, {"resources": ["nodes"], "namespaces": [ctx.ns]},
    ]}));
    let said = ctx.refused(&["rollout", "start", "-f", &never.display().to_string()]);
    assert!(said.contains("freeze: this cluster has no deployments, did you mean \"deployments.apps\"?"), "{said}");
    assert!(said.contains("freeze: nodes are cluster-scoped: remove `namespaces` to freeze this resource"), "{said}");
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", &never.display().to_string()]);
    assert!(code == 1 && text.contains("freeze: this cluster has no deployments"), "{text}{errors}");

    let file = ctx.rollout_file(&freeze(ctx)).display().to_string();
    let rollout = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
    for mode in ["client", "server"] {
        let text = ctx.commanded(&["rollout", "start", "-f", &file, &format!("--dry-run={mode}")]);
        assert!(text.contains(&format!("rollout {} would be applied ({mode} dry run)", ctx.ns)), "{text}");
        for path in policy(ctx).iter().chain([&rollout]) {
            assert_eq!(ctx.call(Method::GET, path, None).code, 404, "{path}");
        }
    }
    // A tool applies the StagedRollout alone.
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    ctx.kubectl(&["apply"], &document);
    let refused = |why: &str| {
        let (code, text, errors) = ctx.runs_rollout(&[]);
        let said = format!("Refused: the freeze would have no effect: {why}");
        assert!(code == 1 && text.contains(&said), "{said}: {text}{errors}");
        let next = format!("pointsman rollout policies {} | kubectl apply -f -", ctx.ns);
        assert!(text.contains(&next), "{text}");
    };
    refused(&format!("ValidatingAdmissionPolicy pointsman-freeze.{} is missing", ctx.ns));
    let printed = ctx.commanded(&["rollout", "policies", &ctx.ns, "-o", "json", "--service-account=flux/rollouts"]);
    let mut printed: Value = serde_json::from_str(&printed).unwrap();
    assert!(printed.to_string().contains("system:serviceaccount:flux:rollouts"), "{printed}");
    printed["items"][1]["spec"]["validationActions"] = json!(["Audit"]);
    ctx.kubectl(&["apply"], &printed);
    refused(&format!(
        "ValidatingAdmissionPolicyBinding pointsman-freeze.{}: spec.validationActions is [\"Audit\"], and [\"Deny\"] is printed",
        ctx.ns
    ));
    printed["items"][1]["spec"]["validationActions"] = json!(["Deny"]);
    ctx.kubectl(&["apply"], &printed);
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    ctx.does(&["clean"]);
    ctx.forgets_rollout();
}

/// The rights to start, inspect and clean a rollout that never ran.
fn rights(ctx: &TestContext<'_>) {
    begins(ctx);
    let file = ctx.rollout_file(&freeze(ctx)).display().to_string();
    let rollout = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
    let acts = |who: &Path| {
        let who = format!("--kubeconfig={}", who.display());
        ctx.call(Method::DELETE, &rollout, None);
        policy(ctx).iter().for_each(|path| drop(ctx.call(Method::DELETE, path, None)));
        // The second run patches existing objects.
        let start = ["rollout", "start", "-f", &file, &who];
        let calls: [&[&str]; 4] =
            [&start, &start, &["rollout", "plan", "-f", &file, "--server", &who], &["rollout", "clean", &ctx.ns, &who]];
        let failed = calls.iter().map(|args| ctx.command(args)).find(|(code, _, _)| *code != 0);
        failed.unwrap_or_default()
    };
    each_right(ctx, &["pointsman-rollout-freeze", "pointsman-rollout", "pointsman-rollout-change"], &|_| true, &acts);
    each_right(ctx, &["pointsman-rollout-change", "pointsman-rollout", "pointsman-rollout-freeze"], &|_| true, &acts);
    ctx.forgets_rollout();
}

/// A client has deleted the CRD of StagedRollouts with all objects, and left the policy.
fn forgotten(ctx: &TestContext<'_>) {
    begins(ctx);
    ctx.starts_rollout(&freeze(ctx));
    assert_eq!(ctx.runs_rollout(&["--once"]).0, 0);
    within_a_second("frozen", rollouts_are_new_for(ctx), || !tries(ctx).is_ok());
    let crd = format!("{CRDS}/stagedrollouts.pointsman.dev");
    ctx.call(Method::DELETE, &crd, None).ok();
    ctx.eventually(|| (ctx.call(Method::GET, &crd, None).code == 404).then_some(()));
    ctx.eventually(|| tries(ctx).is_ok().then_some(()));
    // The state persists once the API server has found no such parameter kind.
    std::thread::sleep(Duration::from_secs(5));
    makes(ctx, "after").ok();
    policy(ctx).iter().for_each(|path| drop(ctx.call(Method::DELETE, path, None).ok()));
}
