//! No rule blocks updates of an existing invalid object, and no rule accepts a new violation.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Enforcement, Request};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::objects::{Random, cases, object};
use super::{elasticsearch, embedded, gadget, load, plain, with};

const MODES: [Enforcement; 3] = [Enforcement::Enforce, Enforcement::Warn, Enforcement::Audit];

/// A violation of one rule of Materialize: the field, its invalid value, and the expected message.
type Violation = (&'static str, Value, &'static str, &'static str);

fn violations() -> Vec<Violation> {
    let image = "Invalid value: \"mz:v29.0.0\": no upgrade from 26.1.0 to 29.0.0 is allowed; first move to 27.0.0";
    let mut all = vec![
        (
            "balancerdReplicas",
            json!(-1),
            "spec.balancerdReplicas",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        ("consoleReplicas", json!(-7), "spec.consoleReplicas", "Invalid value: -7: must be greater than or equal to 0"),
        (
            "balancerdExternalCertificateSpec",
            json!({"issuerRef": {"name": "i"}}),
            "spec.balancerdExternalCertificateSpec.dnsNames",
            "Required value: must be set where spec.balancerdExternalCertificateSpec is",
        ),
        (
            "consoleExternalCertificateSpec",
            json!({"dnsNames": ["a"]}),
            "spec.consoleExternalCertificateSpec.issuerRef",
            "Required value: must be set where spec.consoleExternalCertificateSpec is",
        ),
        (
            "internalCertificateSpec",
            json!({"dnsNames": ["a"], "issuerRef": null}),
            "spec.internalCertificateSpec.issuerRef",
            "Required value: must be set where spec.internalCertificateSpec is",
        ),
        ("environmentdImageRef", json!("mz:v29.0.0"), "spec.environmentdImageRef", image),
        (
            "environmentId",
            json!("33333333-3333-3333-3333-333333333333"),
            "spec.environmentId",
            "Invalid value: \"33333333-3333-3333-3333-333333333333\": field is immutable",
        ),
    ];
    all.extend(bad_durations());
    all
}

fn bad_durations() -> impl Iterator<Item = Violation> {
    let soon = "Invalid value: \"soon\": must be a duration such as 2160h or 1h30m";
    let certificate = |name: &str| json!({"dnsNames": ["a"], "issuerRef": {"name": "i"}, name: "soon"});
    let cases = [
        ("balancerdExternalCertificateSpec", "duration", "spec.balancerdExternalCertificateSpec.duration"),
        ("balancerdExternalCertificateSpec", "renewBefore", "spec.balancerdExternalCertificateSpec.renewBefore"),
        ("consoleExternalCertificateSpec", "duration", "spec.consoleExternalCertificateSpec.duration"),
        ("consoleExternalCertificateSpec", "renewBefore", "spec.consoleExternalCertificateSpec.renewBefore"),
        ("internalCertificateSpec", "duration", "spec.internalCertificateSpec.duration"),
        ("internalCertificateSpec", "renewBefore", "spec.internalCertificateSpec.renewBefore"),
    ];
    cases.into_iter().map(move |(field, name, path)| (field, certificate(name), path, soon))
}

/// A generated object that satisfies every rule.
fn valid(kind: &Kind, version: &str, random: &mut Random) -> Value {
    let mut object = object(kind, version, random);
    object["spec"]["environmentdImageRef"] = json!("mz:v26.1.0");
    object["spec"]["environmentId"] = json!("22222222-2222-2222-2222-222222222222");
    object["status"]["lastCompletedRolloutEnvironmentdImageRef"] = json!("mz:v26.1.0");
    for name in [
        "balancerdReplicas",
        "consoleReplicas",
        "balancerdExternalCertificateSpec",
        "consoleExternalCertificateSpec",
        "internalCertificateSpec",
    ] {
        object["spec"].as_object_mut().unwrap().remove(name);
    }
    object["metadata"]["finalizers"] = json!(["orchestratord.materialize.cloud/materialize"]);
    object
}

/// Updates that do not change the spec.
pub(super) fn harmless(old: &Value) -> Vec<(&'static str, Value)> {
    let spelled = old.to_string().replace("22222222-2222-2222-2222-222222222222", "22222222222222222222222222222222");
    vec![
        ("no-op", old.clone()),
        ("a label", with(old, "/metadata/labels/app", json!("x"))),
        ("an annotation", with(old, "/metadata/annotations/note", json!("x"))),
        ("the finalizer", with(old, "/metadata/finalizers", Value::Null)),
        ("deletion", with(old, "/metadata/deletionTimestamp", json!("2026-11-20T10:36:38Z"))),
        ("status", with(old, "/status/lastCompletedRolloutEnvironmentdImageRef", json!("mz:v26.0.0"))),
        ("no status", with(old, "/status", Value::Null)),
        ("another field", with(old, "/spec/backendSecretName", json!("elsewhere"))),
        ("another spelling", serde_json::from_str(&spelled).unwrap()),
    ]
}

#[test]
fn old_violations_never_deny_an_update() {
    let servers = MODES.map(|mode| plain(embedded("materialize"), mode));
    let kind = &servers[0].kinds()[0];
    let violations = violations();
    let mut asked = 0;
    for case in 0..cases(2_000) / 20 {
        let random = &mut Random::new(case);
        let version = *random.pick(&["v1alpha1", "v1alpha2"]);
        let mut old = valid(kind, version, random);
        // One violation per field, all at once; an immutable field cannot be wrong on its own.
        for (name, bad, ..) in violations.iter().filter(|(name, ..)| *name != "environmentId") {
            if old["spec"].get(*name).is_none() || *name == "environmentdImageRef" || random.percent(50) {
                old["spec"][*name] = bad.clone();
            }
        }
        for (what, new) in harmless(&old) {
            for (webhook, mode) in servers.iter().zip(MODES) {
                let answer = ask(webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
                assert!(answer.allowed, "case {case}, {what}, {mode:?}: {answer:?}");
                let known = answer
                    .warnings
                    .iter()
                    .filter(|warning| warning.ends_with("(existed before, so the value may stay)"))
                    .count();
                assert_eq!(
                    known == 0,
                    mode == Enforcement::Audit,
                    "case {case}, {what}, {mode:?}: {:?}",
                    answer.warnings
                );
                assert_eq!(answer.count("would_deny") + answer.count("deny"), 0);
                asked += 1;
            }
        }
        for webhook in &servers {
            let mut status = review("UPDATE", Some(&old), Some(&with(&old, "/status/x", json!("y"))));
            status["request"]["subResource"] = json!("status");
            for request in [status, review("DELETE", Some(&old), None)] {
                let answer = ask(webhook, Endpoint::Validate, &request);
                assert!(answer.allowed && answer.warnings.is_empty());
            }
        }
    }
    println!("{asked} updates of invalid objects");
}

#[test]
fn new_violations_are_denied_by_field() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let kind = &webhook.kinds()[0];
    let violations = violations();
    let mut denied = 0;
    for case in 0..cases(2_000) / 20 {
        let random = &mut Random::new(case);
        let version = *random.pick(&["v1alpha1", "v1alpha2"]);
        let old = valid(kind, version, random);
        let untouched = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&old)));
        assert!(untouched.allowed, "{untouched:?}");
        for (name, bad, field, words) in &violations {
            let new = with(&old, &format!("/spec/{name}"), bad.clone());
            let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
            assert!(!answer.allowed, "case {case}: {new}");
            assert_eq!(answer.code, 422);
            assert_eq!(answer.causes, [((*field).to_owned(), (*words).to_owned())]);
            assert_eq!(answer.message, format!("Materialize.materialize.cloud \"thing\" is invalid: {field}: {words}"));
            assert_eq!(answer.body["response"]["status"]["details"]["kind"], "Materialize");
            assert_eq!(answer.body["response"]["status"]["details"]["name"], "thing");
            denied += 1;
            // The same object in a creation: only rules that need an old object are skipped.
            let past = ["environmentId", "environmentdImageRef"].contains(name);
            assert_eq!(
                ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&with(&new, "/status", Value::Null))))
                    .allowed,
                past
            );
        }
        // Two violations at once: one cause each.
        let two = with(&with(&old, "/spec/balancerdReplicas", json!(-1)), "/spec/consoleReplicas", json!(-1));
        let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&two)));
        assert_eq!(answer.causes.len(), 2);
        assert!(answer.message.contains("is invalid: [spec.balancerdReplicas: Invalid value: -1: must be greater than or equal to 0, spec.consoleReplicas: "), "{}", answer.message);
    }
    println!("{denied} denials");
}

#[test]
fn old_malformed_metadata_only_warns() {
    // serde_json would drop the duplicate name, so the review is written as text.
    let body = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",
        "kind":{"group":"elasticsearch.k8s.elastic.co","kind":"Elasticsearch"},"operation":"UPDATE",
        "object":{"apiVersion":"elasticsearch.k8s.elastic.co/v1","kind":"Elasticsearch","metadata":{"annotations":[]}},
        "oldObject":{"metadata":{"name":"7","name":1,"annotations":[]}}}}"#;
    let webhook = plain(elasticsearch(), Enforcement::Enforce);
    let reply = webhook.handle(&Request::new(Endpoint::Validate, body.as_bytes())).unwrap();
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(answer["response"]["allowed"], true, "{answer}");
    let warning = answer["response"]["warnings"][0].as_str().unwrap();
    assert!(warning.contains("existed before"), "{warning}");
}

/// A value that only v2 can represent is stored in an annotation at v1: an edit of the annotation edits the spec.
#[test]
fn edited_kept_fields_are_judged() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let kept = |secret: &str| json!({"fields": {"spec.secret": {"value": secret}}}).to_string();
    let annotation = "/metadata/annotations/pointsman.dev~1kept-v2";
    let old = with(&gadget("v1", &json!({"copies": 3})), annotation, json!(kept("a")));
    let asked = |new: &Value| ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(new)));
    let edited = asked(&with(&old, annotation, json!(kept("b"))));
    let why = "Invalid value: \"b\": field is immutable";
    assert_eq!(edited.causes, [("spec.secret".to_owned(), why.to_owned())], "{edited:?}");
    let dropped = asked(&with(&old, annotation, json!("")));
    let why = "Required value: field is immutable and cannot be removed";
    assert_eq!(dropped.causes, [("spec.secret".to_owned(), why.to_owned())], "{dropped:?}");
    let spelled = kept("a").replace(':', ": ");
    let left_out = with(&old, annotation, Value::Null);
    for new in [with(&old, annotation, json!(spelled)), left_out, with(&old, "/metadata/annotations/note", json!("x"))]
    {
        assert!(asked(&new).allowed, "{new}");
    }
}
