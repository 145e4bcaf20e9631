//! The guard of the CRD: a required conversion stays, regardless of the client that applies another CRD.

use hyper::Method;
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{CRDS, JSON, MERGE, TestContext};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("guarded_conversion_stays_while_needed", guarded).of(&WIDGETS).failing(),
    Scenario::new("guard_allows_restoring_enable", put_back).of(&WIDGETS).newest().failing().thorough(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

fn guarded(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    put_in_force(ctx);
    let says = |answer: &Answer, words: &str| {
        let said = answer.fails(422);
        assert!(said.contains("pointsman-crd-guard") && said.contains(words), "{words}: {said}");
    };
    // A chart, an operator and a person try different writes.
    let mut without = crd(ctx);
    without["spec"].as_object_mut().unwrap().remove("conversion");
    says(
        &ctx.call(Method::PUT, &dry(ctx, "helm"), Some((JSON, without.to_string()))),
        " to no webhook while v2, v1 are served and v1 may be stored",
    );
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    says(&merge(ctx, "operator", &none), "run pointsman disable");
    let elsewhere = json!({"url": "https://127.0.0.1:1/convert", "service": null});
    let elsewhere = json!({"spec": {"conversion": {"webhook": {"clientConfig": elsewhere}}}});
    says(&merge(ctx, "kubectl-edit", &elsewhere), "to https://127.0.0.1:1/convert");
    let mut one = without.clone();
    one["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    says(&ctx.call(Method::PUT, &dry(ctx, "helm"), Some((JSON, one.to_string()))), "to no webhook");
    // The API server itself refuses to remove a stored version.
    let mut other = crd(ctx);
    other["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == new);
    other["spec"]["versions"][0]["storage"] = json!(true);
    let said = ctx.call(Method::PUT, &dry(ctx, "helm"), Some((JSON, other.to_string()))).fails(422);
    assert!(said.contains("missing from spec.versions"), "{said}");
    // Deletions of one object and of a collection.
    let deleted = ctx.call(Method::DELETE, &dry(ctx, "kubectl"), None);
    says(&deleted, "would delete every object");
    let all = format!("{CRDS}?dryRun=All&fieldSelector=metadata.name%3D{}", ctx.crd_name());
    says(&ctx.call(Method::DELETE, &all, None), "would delete every object");
    // Writes outside the guard's scope, and deliberate writes, pass.
    let authorities = format!("{}{}", ctx.test_cluster.authority.pem, crate::support::pki::Authority::new().pem);
    let bundle = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, authorities);
    let bundle = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}});
    merge(ctx, "cainjector", &bundle).ok();
    let mut meant = none;
    meant["metadata"] = json!({"annotations": {"pointsman.dev/released": "moved to another cluster"}});
    merge(ctx, "operator", &meant).ok();
    // pointsman commands perform their own checks.
    ctx.commanded(&["migrate", &ctx.crd_name(), "--to", new, "--settle=2s"]);
    let ca = format!("--ca-file={}", ctx.authority().display());
    ctx.commanded(&["enable", &ctx.crd_name(), &ctx.server(), &ca, "--force-conflicts"]);
    let leave = ["disable", &ctx.crd_name(), &ctx.server(), "--served", new, "--settle=2s", "--admission"];
    let text = ctx.commanded(&leave);
    assert!(text.contains("is disabled: 1 object listed"), "{text}");
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let guard = format!("{policies}/pointsman-crd-guard.{}", ctx.crd_name());
    assert_eq!(ctx.call(Method::GET, &guard, None).code, 404);
    let incomplete = format!("{policies}/pointsman-incomplete.{new}.{}", ctx.crd_name());
    assert_eq!(ctx.call(Method::GET, &incomplete, None).code, 404);
}

/// The server answers pointsman but not the API server: the change must be reverted.
fn put_back(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    let mut plain = ctx.enabled(old);
    plain["spec"].as_object_mut().unwrap().remove("conversion");
    plain["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    ctx.install(&plain);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let before = crd(ctx);
    ctx.kubectl(&["apply"], &guard(ctx));
    let endpoint = format!("--endpoint=127.0.0.1:{}", ctx.setup.port);
    let ca = format!("--ca-file={}", ctx.authority().display());
    let wrong = format!("--url=https://localhost:{}", crate::support::process::free_port());
    let said = ctx.refused(&["enable", &ctx.crd_name(), &wrong, &ca, &endpoint, "--force-conflicts"]);
    assert!(said.contains("the CRD is restored"), "{said}");
    assert_eq!(crd(ctx)["spec"], before["spec"]);
    ctx.kubectl(&["delete"], &guard(ctx));
    ctx.eventually(|| ctx.list(old).is_ok().then_some(()));
}

/// The printed guard.
fn guard(ctx: &TestContext<'_>) -> Value {
    let printed: Value = serde_json::from_str(&ctx.pointsman_prints(&["crd", &ctx.server(), "--guard"])).unwrap();
    let items = printed["items"].as_array().unwrap().iter();
    let ours = items.filter(|item| item["metadata"]["name"].as_str().unwrap().starts_with("pointsman-crd-guard."));
    let ours: Vec<&Value> = ours.collect();
    assert_eq!(ours.len(), 2, "a policy and its binding");
    json!({"apiVersion": "v1", "kind": "List", "items": ours})
}

/// Policies are in force a moment after their creation.
fn put_in_force(ctx: &TestContext<'_>) {
    ctx.kubectl(&["apply"], &guard(ctx));
    let deleted = || ctx.call(Method::DELETE, &dry(ctx, "kubectl"), None);
    ctx.eventually(|| (!deleted().is_ok()).then_some(()));
}

fn merge(ctx: &TestContext<'_>, manager: &str, patch: &Value) -> Answer {
    ctx.call(Method::PATCH, &dry(ctx, manager), Some((MERGE, patch.to_string())))
}

fn dry(ctx: &TestContext<'_>, manager: &str) -> String {
    format!("{CRDS}/{}?dryRun=All&fieldManager={manager}", ctx.crd_name())
}

fn crd(ctx: &TestContext<'_>) -> Value {
    ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name()))
}
