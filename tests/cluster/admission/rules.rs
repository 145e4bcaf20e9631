//! The rules that a CRD can express equal the rules of /validate: for each object both accept or both deny.

use serde_json::{Value, json};

use crate::admission::cases::{Case, cases};
use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, JSON, TestContext};
use crate::support::side_by_side::{A, SideBySide};
use hyper::Method;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("crd_schema_and_webhook_agree", agree).materialize(),
    Scenario::new("stored_nulls_make_no_object_unchangeable", stored_nulls).materialize().newest(),
];

/// True if a write was accepted, with the message.
type Verdict = (bool, String);

fn agree(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let with_rules = ctx.printed_crd(&["--storage", old]);
    let without = ctx.printed_crd(&["--storage", old, "--no-rules"]);
    assert_ne!(with_rules, without);
    ctx.install(&without);
    let cases = cases();
    // Earlier objects are stored before the rules exist.
    let mut known = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let taken = case.before.as_ref().is_none_or(|before| {
            ["schema", "webhook"].iter().all(|by| {
                [old, new].iter().all(|version| {
                    let object = object(ctx, version, &name(by, version, number), before);
                    ctx.create(version, &object).is_ok()
                })
            })
        });
        known.push(taken);
    }
    replace_crd(ctx, &with_rules, false);
    let by_schema = write_all(ctx, "schema", &cases, &known);
    replace_crd(ctx, &without, true);
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("none");
    let by_webhook = write_all(ctx, "webhook", &cases, &known);
    let mut differing = Vec::new();
    let (mut accepted, mut denied) = (0, 0);
    for ((what, schema), (_, webhook)) in by_schema.iter().zip(&by_webhook) {
        if schema.0 == webhook.0 {
            if schema.0 { accepted += 1 } else { denied += 1 }
        } else {
            differing.push(format!("{what}\n  schema:  {schema:?}\n  webhook: {webhook:?}"));
        }
    }
    let left_out = known.iter().filter(|known| !**known).count();
    println!("{accepted} accepted by both, {denied} denied by both, {left_out} that no schema takes");
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), by_schema.len(), differing.join("\n"));
    assert!(accepted > 50 && denied > 50);
}

fn name(by: &str, version: &str, number: usize) -> String {
    format!("{by}-{version}-{number}")
}

fn object(ctx: &TestContext<'_>, version: &str, name: &str, more: &Value) -> Value {
    let mut object = ctx.object(version, name);
    let spec = object["spec"].as_object_mut().unwrap();
    spec.remove("environmentId");
    spec.extend(more.as_object().unwrap().clone());
    object
}

fn write_all(ctx: &TestContext<'_>, by: &str, cases: &[Case], known: &[bool]) -> Vec<(String, Verdict)> {
    let mut verdicts = Vec::new();
    for (number, case) in cases.iter().enumerate().filter(|(number, _)| known[*number]) {
        for version in [ctx.sample.old, ctx.sample.new] {
            let name = name(by, version, number);
            let mut object = object(ctx, version, &name, &case.after);
            let answer = match &case.before {
                None => ctx.create(version, &object),
                Some(_) => {
                    object["metadata"]["resourceVersion"] =
                        ctx.get(version, &name).ok()["metadata"]["resourceVersion"].clone();
                    ctx.update(version, &name, &object)
                }
            };
            assert!(answer.is_ok() || answer.code == 422, "{}", answer.message());
            let before = case.before.as_ref().map_or_else(|| "created".to_owned(), |before| format!("{before} to"));
            verdicts.push((format!("{version} {before} {}", case.after), (answer.is_ok(), answer.message())));
        }
    }
    verdicts
}

/// Replaces the CRD, and waits until its rules are in force or are no longer in force.
fn replace_crd(ctx: &TestContext<'_>, crd: &Value, accepts: bool) {
    let path = format!("{CRDS}/{}", ctx.crd_name());
    let mut crd = crd.clone();
    crd["metadata"]["resourceVersion"] = ctx.call_get(&path)["metadata"]["resourceVersion"].clone();
    ctx.call(Method::PUT, &path, Some((JSON, crd.to_string()))).ok();
    for version in [ctx.sample.old, ctx.sample.new] {
        let probe = object(ctx, version, "probe", &json!({"balancerdReplicas": -1}));
        let path = format!("{}?dryRun=All", ctx.all(version));
        ctx.eventually(|| (ctx.post(&path, &probe).is_ok() == accepts).then_some(()));
    }
}

/// An operator stored null before a rule existed: the value is annotated, reported, rewritten, held and released.
fn stored_nulls(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.install(&ctx.printed_crd(&[]));
    ctx.create(new, &ctx.object(new, "a")).ok();
    let mut stored = ctx.etcd("a");
    let certificate = json!({"dnsNames": null, "issuerRef": {"name": "ca", "kind": "Issuer"}});
    stored["spec"]["consoleExternalCertificateSpec"] = certificate.clone();
    ctx.test_cluster.etcd.write(&ctx.key("a"), &stored);
    let seen = || Some(ctx.get(new, "a").ok()).filter(|now| now["spec"] == stored["spec"]);
    let seen = ctx.eventually(seen);
    for version in [old, new] {
        ctx.patch(version, "a", &json!({"metadata": {"annotations": {"example.com/at": version}}})).ok();
        ctx.patch(version, "a/status", &json!({"metadata": {"labels": {"at": version}}})).ok();
        ctx.patch(version, "a", &json!({"spec": {"podLabels": {"at": version}}})).ok();
    }
    ctx.update(new, "a", &ctx.get(new, "a").ok()).ok();
    assert_eq!(ctx.etcd("a")["spec"]["consoleExternalCertificateSpec"], certificate);
    assert_eq!(seen["metadata"]["uid"], ctx.etcd("a")["metadata"]["uid"]);
    ctx.patch(new, "a", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    ctx.delete(new, "a").ok();
    ctx.patch(new, "a", &json!({"metadata": {"finalizers": null}})).ok();
    assert_eq!(ctx.get(new, "a").code, 404);
}
