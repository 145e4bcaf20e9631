//! The rules that a CRD can say and the rules of /validate are the same: for each object both accept or both deny.

use serde_json::{Value, json};

use crate::admission_cases::{Case, cases};
use crate::scenario::Scenario;
use crate::support::scene::{CRDS, JSON, Scene};
use crate::support::side_by_side::{A, SideBySide};
use hyper::Method;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("crd_schema_and_webhook_agree", agree).materialize(),
    Scenario::new("stored_nulls_make_no_object_unchangeable", stored_nulls).materialize().newest(),
];

/// Whether a write passed, and what was said.
type Verdict = (bool, String);

fn agree(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let with_rules = scene.printed_crd(&["--storage", old]);
    let without = scene.printed_crd(&["--storage", old, "--no-rules"]);
    assert_ne!(with_rules, without);
    scene.install(&without);
    let cases = cases();
    // What is there before is there before the rules.
    let mut known = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let taken = case.before.as_ref().is_none_or(|before| {
            ["schema", "webhook"].iter().all(|by| {
                [old, new].iter().all(|version| {
                    let object = object(scene, version, &name(by, version, number), before);
                    scene.create(version, &object).is_ok()
                })
            })
        });
        known.push(taken);
    }
    replace_crd(scene, &with_rules, false);
    let by_schema = write_all(scene, "schema", &cases, &known);
    replace_crd(scene, &without, true);
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("none");
    let by_webhook = write_all(scene, "webhook", &cases, &known);
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

fn object(scene: &Scene<'_>, version: &str, name: &str, more: &Value) -> Value {
    let mut object = scene.object(version, name);
    let spec = object["spec"].as_object_mut().unwrap();
    spec.remove("environmentId");
    spec.extend(more.as_object().unwrap().clone());
    object
}

fn write_all(scene: &Scene<'_>, by: &str, cases: &[Case], known: &[bool]) -> Vec<(String, Verdict)> {
    let mut verdicts = Vec::new();
    for (number, case) in cases.iter().enumerate().filter(|(number, _)| known[*number]) {
        for version in [scene.sample.old, scene.sample.new] {
            let name = name(by, version, number);
            let mut object = object(scene, version, &name, &case.after);
            let answer = match &case.before {
                None => scene.create(version, &object),
                Some(_) => {
                    object["metadata"]["resourceVersion"] =
                        scene.get(version, &name).ok()["metadata"]["resourceVersion"].clone();
                    scene.update(version, &name, &object)
                }
            };
            assert!(answer.is_ok() || answer.code == 422, "{}", answer.message());
            let before = case.before.as_ref().map_or_else(|| "created".to_owned(), |before| format!("{before} to"));
            verdicts.push((format!("{version} {before} {}", case.after), (answer.is_ok(), answer.message())));
        }
    }
    verdicts
}

/// Replaces the CRD, and waits until its rules are in force or no longer are.
fn replace_crd(scene: &Scene<'_>, crd: &Value, accepts: bool) {
    let path = format!("{CRDS}/{}", scene.crd_name());
    let mut crd = crd.clone();
    crd["metadata"]["resourceVersion"] = scene.call_get(&path)["metadata"]["resourceVersion"].clone();
    scene.call(Method::PUT, &path, Some((JSON, crd.to_string()))).ok();
    for version in [scene.sample.old, scene.sample.new] {
        let probe = object(scene, version, "probe", &json!({"balancerdReplicas": -1}));
        let path = format!("{}?dryRun=All", scene.all(version));
        scene.eventually(|| (scene.post(&path, &probe).is_ok() == accepts).then_some(()));
    }
}

/// What an operator wrote as null before there was a rule: annotated, reported on, rewritten, held and let go.
fn stored_nulls(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.install(&scene.printed_crd(&[]));
    scene.create(new, &scene.object(new, "a")).ok();
    let mut stored = scene.etcd("a");
    let certificate = json!({"dnsNames": null, "issuerRef": {"name": "ca", "kind": "Issuer"}});
    stored["spec"]["consoleExternalCertificateSpec"] = certificate.clone();
    scene.bed.etcd.write(&scene.key("a"), &stored);
    let seen = || Some(scene.get(new, "a").ok()).filter(|now| now["spec"] == stored["spec"]);
    let seen = scene.eventually(seen);
    for version in [old, new] {
        scene.patch(version, "a", &json!({"metadata": {"annotations": {"example.com/at": version}}})).ok();
        scene.patch(version, "a/status", &json!({"metadata": {"labels": {"at": version}}})).ok();
        scene.patch(version, "a", &json!({"spec": {"podLabels": {"at": version}}})).ok();
    }
    scene.update(new, "a", &scene.get(new, "a").ok()).ok();
    assert_eq!(scene.etcd("a")["spec"]["consoleExternalCertificateSpec"], certificate);
    assert_eq!(seen["metadata"]["uid"], scene.etcd("a")["metadata"]["uid"]);
    scene.patch(new, "a", &json!({"metadata": {"finalizers": ["example.com/hold"]}})).ok();
    scene.delete(new, "a").ok();
    scene.patch(new, "a", &json!({"metadata": {"finalizers": null}})).ok();
    assert_eq!(scene.get(new, "a").code, 404);
}
