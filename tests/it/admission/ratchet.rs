//! No rule makes an object that is already there unchangeable, and none lets in what was not there before.

use pointsman::definition::Kind;
use pointsman::webhook::{Endpoint, Enforcement, Webhook};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::objects::{Random, cases, object};
use super::{embedded, gadget, load, plain, with};

const MODES: [Enforcement; 3] = [Enforcement::Enforce, Enforcement::Warn, Enforcement::Audit];

/// A way to break one rule of Materialize: the field, its bad value, and what is said of it.
fn violations() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    let soon = "Invalid value: \"soon\": must be a duration such as 2160h or 1h30m";
    let certificate = |name: &str, value: &str| json!({"dnsNames": ["a"], "issuerRef": {"name": "i"}, name: value});
    let image = "Invalid value: \"mz:v29.0.0\": no upgrade from 26.1.0 to 29.0.0 is allowed; go to 27.0.0 first";
    vec![
        (
            "balancerdReplicas",
            json!(-1),
            "spec.balancerdReplicas",
            "Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "consoleReplicas",
            json!(-7),
            "spec.consoleReplicas",
            "Invalid value: -7: must be greater than or equal to 0",
        ),
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
        (
            "balancerdExternalCertificateSpec",
            certificate("duration", "soon"),
            "spec.balancerdExternalCertificateSpec.duration",
            soon,
        ),
        (
            "balancerdExternalCertificateSpec",
            certificate("renewBefore", "soon"),
            "spec.balancerdExternalCertificateSpec.renewBefore",
            soon,
        ),
        (
            "consoleExternalCertificateSpec",
            certificate("duration", "soon"),
            "spec.consoleExternalCertificateSpec.duration",
            soon,
        ),
        (
            "consoleExternalCertificateSpec",
            certificate("renewBefore", "soon"),
            "spec.consoleExternalCertificateSpec.renewBefore",
            soon,
        ),
        (
            "internalCertificateSpec",
            certificate("duration", "soon"),
            "spec.internalCertificateSpec.duration",
            soon,
        ),
        (
            "internalCertificateSpec",
            certificate("renewBefore", "soon"),
            "spec.internalCertificateSpec.renewBefore",
            soon,
        ),
        (
            "environmentdImageRef",
            json!("mz:v29.0.0"),
            "spec.environmentdImageRef",
            image,
        ),
        (
            "environmentId",
            json!("33333333-3333-3333-3333-333333333333"),
            "spec.environmentId",
            "Invalid value: \"33333333-3333-3333-3333-333333333333\": field is immutable",
        ),
    ]
}

/// A generated object that keeps every rule.
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

/// Updates that have nothing to do with the spec.
fn harmless(old: &Value) -> Vec<(&'static str, Value)> {
    let spelled = old.to_string().replace(
        "22222222-2222-2222-2222-222222222222",
        "22222222222222222222222222222222",
    );
    vec![
        ("no-op", old.clone()),
        ("a label", with(old, "/metadata/labels/app", json!("x"))),
        (
            "an annotation",
            with(old, "/metadata/annotations/note", json!("x")),
        ),
        (
            "the finalizer",
            with(old, "/metadata/finalizers", Value::Null),
        ),
        (
            "deletion",
            with(
                old,
                "/metadata/deletionTimestamp",
                json!("2026-11-20T10:36:38Z"),
            ),
        ),
        (
            "status",
            with(
                old,
                "/status/lastCompletedRolloutEnvironmentdImageRef",
                json!("mz:v26.0.0"),
            ),
        ),
        ("no status", with(old, "/status", Value::Null)),
        (
            "another field",
            with(old, "/spec/backendSecretName", json!("elsewhere")),
        ),
        ("another spelling", serde_json::from_str(&spelled).unwrap()),
    ]
}

#[test]
fn what_was_wrong_before_stops_nothing() {
    let servers = MODES.map(|mode| plain(embedded("materialize"), mode));
    let kind = &servers[0].kinds()[0];
    let violations = violations();
    let mut asked = 0;
    for case in 0..cases(2_000) / 10 {
        let random = &mut Random::new(case);
        let version = *random.pick(&["v1alpha1", "v1alpha2"]);
        let mut old = valid(kind, version, random);
        // One of each field's violations, all at once; an immutable field cannot be wrong by itself.
        for (name, bad, ..) in violations
            .iter()
            .filter(|(name, ..)| *name != "environmentId")
        {
            if old["spec"].get(*name).is_none()
                || *name == "environmentdImageRef"
                || random.percent(50)
            {
                old["spec"][*name] = bad.clone();
            }
        }
        for (what, new) in harmless(&old) {
            for (webhook, mode) in servers.iter().zip(MODES) {
                let answer = ask(
                    webhook,
                    Endpoint::Validate,
                    &review("UPDATE", Some(&old), Some(&new)),
                );
                assert!(answer.allowed, "case {case}, {what}, {mode:?}: {answer:?}");
                let known = answer
                    .warnings
                    .iter()
                    .filter(|warning| warning.ends_with("(it was so before, so it may stay)"))
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
            let mut status = review(
                "UPDATE",
                Some(&old),
                Some(&with(&old, "/status/x", json!("y"))),
            );
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
fn what_was_not_there_before_is_denied_field_by_field() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let kind = &webhook.kinds()[0];
    let violations = violations();
    let mut denied = 0;
    for case in 0..cases(2_000) / 10 {
        let random = &mut Random::new(case);
        let version = *random.pick(&["v1alpha1", "v1alpha2"]);
        let old = valid(kind, version, random);
        let untouched = ask(
            &webhook,
            Endpoint::Validate,
            &review("UPDATE", Some(&old), Some(&old)),
        );
        assert!(untouched.allowed, "{untouched:?}");
        for (name, bad, field, words) in &violations {
            let new = with(&old, &format!("/spec/{name}"), bad.clone());
            let answer = ask(
                &webhook,
                Endpoint::Validate,
                &review("UPDATE", Some(&old), Some(&new)),
            );
            assert!(!answer.allowed, "case {case}: {new}");
            assert_eq!(answer.code, 422);
            assert_eq!(answer.causes, [((*field).to_owned(), (*words).to_owned())]);
            assert_eq!(
                answer.message,
                format!("Materialize.materialize.cloud \"thing\" is invalid: {field}: {words}")
            );
            assert_eq!(
                answer.body["response"]["status"]["details"]["kind"],
                "Materialize"
            );
            assert_eq!(
                answer.body["response"]["status"]["details"]["name"],
                "thing"
            );
            denied += 1;
            // The same, if it is new altogether: only what needs a past is missing.
            let past = ["environmentId", "environmentdImageRef"].contains(name);
            assert_eq!(
                ask(
                    &webhook,
                    Endpoint::Validate,
                    &review("CREATE", None, Some(&with(&new, "/status", Value::Null)))
                )
                .allowed,
                past
            );
        }
        // Two at once: one cause each.
        let two = with(
            &with(&old, "/spec/balancerdReplicas", json!(-1)),
            "/spec/consoleReplicas",
            json!(-1),
        );
        let answer = ask(
            &webhook,
            Endpoint::Validate,
            &review("UPDATE", Some(&old), Some(&two)),
        );
        assert_eq!(answer.causes.len(), 2);
        assert!(answer.message.contains("is invalid: [spec.balancerdReplicas: Invalid value: -1: must be greater than or equal to 0, spec.consoleReplicas: "), "{}", answer.message);
    }
    println!("{denied} denials");
}

/// Denied for these fields.
fn fields(webhook: &Webhook, old: Option<&Value>, new: &Value) -> Vec<String> {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let answer = ask(
        webhook,
        Endpoint::Validate,
        &review(operation, old, Some(new)),
    );
    answer.causes.into_iter().map(|(field, _)| field).collect()
}

#[test]
fn fields_are_named_as_the_request_spells_them() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let good = |version: &str| match version {
        "v2" => gadget(
            "v2",
            &json!({"id": "22222222-2222-2222-2222-222222222222", "replicas": 2, "level": 1, "endpoint": {"host": "h", "port": 1},
            "tls": {"secretName": "s", "issuer": {"name": "i"}, "renewal": "1h"}, "release": "1.1.0"}),
        ),
        _ => gadget(
            version,
            &json!({"identity": "22222222-2222-2222-2222-222222222222", if version == "v0" { "size" } else { "copies" }: 2, "level": "1", "hostPort": "h:1",
            "certificate": {"secretName": "s", "issuer": {"name": "i"}, "renewal": "1h"}, "release": "1.1.0"}),
        ),
    };
    for (version, pointer, bad, field) in [
        ("v2", "/spec/replicas", json!(9), "spec.replicas"),
        ("v1", "/spec/copies", json!(9), "spec.copies"),
        ("v0", "/spec/size", json!(9), "spec.size"),
        (
            "v2",
            "/spec/id",
            json!("33333333-3333-3333-3333-333333333333"),
            "spec.id",
        ),
        (
            "v1",
            "/spec/identity",
            json!("33333333-3333-3333-3333-333333333333"),
            "spec.identity",
        ),
        ("v0", "/spec/identity", Value::Null, "spec.identity"),
        ("v2", "/spec/endpoint/port", json!(0), "spec.endpoint.port"),
        ("v1", "/spec/hostPort", json!("h:0"), "spec.hostPort"),
        ("v0", "/spec/hostPort", json!("h:70000"), "spec.hostPort"),
        (
            "v2",
            "/spec/tls/secretName",
            Value::Null,
            "spec.tls.secretName",
        ),
        (
            "v1",
            "/spec/certificate/secretName",
            Value::Null,
            "spec.certificate.secretName",
        ),
        (
            "v1",
            "/spec/certificate/issuer",
            Value::Null,
            "spec.certificate.issuer",
        ),
        ("v2", "/spec/tls/renewal", json!("1 h"), "spec.tls.renewal"),
        (
            "v1",
            "/spec/certificate/renewal",
            json!("1 h"),
            "spec.certificate.renewal",
        ),
        ("v2", "/spec/level", json!(10), "spec.level"),
        ("v1", "/spec/level", json!("10"), "spec.level"),
        ("v1", "/spec/release", json!("1.3.0"), "spec.release"),
    ] {
        let old = good(version);
        assert_eq!(fields(&webhook, Some(&old), &old), [""; 0], "{version}");
        let new = with(&old, pointer, bad);
        assert_eq!(
            fields(&webhook, Some(&old), &new),
            [field],
            "{version} {pointer}"
        );
        // Standing there before, it is a warning in the same words.
        if !pointer.ends_with("identity")
            && !pointer.ends_with("id")
            && !pointer.ends_with("release")
        {
            let later = with(&new, "/spec/labels", json!({"a": "b"}));
            let answer = ask(
                &webhook,
                Endpoint::Validate,
                &review("UPDATE", Some(&new), Some(&later)),
            );
            assert!(
                answer.allowed
                    && answer
                        .warnings
                        .iter()
                        .any(|warning| warning.starts_with(&format!("{field}: "))
                            && warning.ends_with("(it was so before, so it may stay)")),
                "{answer:?}"
            );
        }
    }
    let nobody = ask(
        &webhook,
        Endpoint::Validate,
        &review(
            "CREATE",
            None,
            Some(&with(&good("v1"), "/spec/owner", json!("nobody"))),
        ),
    );
    assert!(
        nobody
            .warnings
            .contains(&"spec.owner: somebody should answer for this".to_owned()),
        "{:?}",
        nobody.warnings
    );
}

#[test]
fn a_need_that_is_taken_away_is_missed_and_one_that_was_never_there_is_not() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget(
        "v2",
        &json!({"tls": {"secretName": "s", "issuer": {"name": "i"}}}),
    );
    for empty in [Value::Null, json!(""), json!({})] {
        let field = if empty == json!("") {
            "secretName"
        } else {
            "issuer"
        };
        let new = with(&old, &format!("/spec/tls/{field}"), empty);
        assert_eq!(
            fields(&webhook, Some(&old), &new),
            [format!("spec.tls.{field}")]
        );
    }
    let bare = gadget("v2", &json!({"tls": {"secretName": "s"}}));
    assert_eq!(
        fields(
            &webhook,
            Some(&bare),
            &with(&bare, "/spec/replicas", json!(3))
        ),
        [""; 0]
    );
    // Repairing one of two things is no offence for the other.
    let both = gadget("v2", &json!({"tls": {}}));
    assert_eq!(fields(&webhook, Some(&both), &bare), [""; 0]);
    assert_eq!(
        fields(
            &webhook,
            Some(&both),
            &with(&both, "/spec/tls/renewal", json!("1x"))
        ),
        ["spec.tls.renewal"]
    );
    assert_eq!(
        fields(&webhook, Some(&gadget("v2", &json!({"tls": null}))), &both).len(),
        2
    );
}

#[test]
fn immutable_means_once_set() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let (one, two) = (
        "aaaaaaaa-2222-2222-2222-222222222222",
        "bbbbbbbb-2222-2222-2222-222222222222",
    );
    let id = |id: Value| gadget("v2", &json!({"id": id}));
    let change = |old: Value, new: Value| fields(&webhook, Some(&id(old)), &id(new)).is_empty();
    assert!(change(Value::Null, json!(one)), "null is not set");
    assert!(
        fields(&webhook, Some(&gadget("v2", &json!({}))), &id(json!(one))).is_empty(),
        "absent is not set"
    );
    assert!(
        change(json!(""), json!(one)),
        "an empty string is no value of any UUID"
    );
    assert!(
        change(json!(one), json!(one.to_uppercase()))
            && change(json!(one), json!(one.replace('-', "")))
    );
    assert!(
        !change(json!(one), json!(two))
            && !change(json!(one), json!(""))
            && !change(json!(one), Value::Null)
    );
}

#[test]
fn numbers_are_compared_as_numbers() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let raw = |old: &str, new: &str| {
        let object = |level: &str| {
            format!(
                r#"{{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{{"name":"g"}},"spec":{{"level":{level}}}}}"#
            )
        };
        webhook
            .judge(&object(new), Some(&object(old)))
            .unwrap()
            .0
            .errors
            .len()
    };
    for (old, new) in [
        ("10", "10.0"),
        ("10.0", "10"),
        ("1e1", "10"),
        ("99999999999999999999", "99999999999999999999.0"),
    ] {
        assert_eq!(raw(old, new), 0, "{old} is {new}");
    }
    for bad in ["10", "10.0", "9.5", "1e1", "99999999999999999999", "1e400"] {
        assert_eq!(raw("1", bad), 1, "{bad}");
    }
    for good in ["9", "9.0", "-0.0", "-1e400", "1e-400", "90e-1"] {
        assert_eq!(raw("1", good), 0, "{good}");
    }
}

#[test]
fn an_object_that_cannot_be_read_can_be_left_alone_and_repaired() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget(
        "v1",
        &json!({"labels": "many", "copies": 9, "certificate": {}}),
    );
    for (_, new) in harmless(&old)
        .into_iter()
        .filter(|(what, _)| *what != "another spelling")
    {
        assert_eq!(fields(&webhook, Some(&old), &new), [""; 0], "{new}");
    }
    // Repaired, it is judged again; what else is wrong with it was so before.
    assert_eq!(
        fields(
            &webhook,
            Some(&old),
            &with(&old, "/spec/labels", json!({"a": "1"}))
        ),
        [""; 0]
    );
    assert_eq!(
        fields(
            &webhook,
            Some(&old),
            &with(
                &with(&old, "/spec/labels", json!({"a": "1"})),
                "/spec/copies",
                json!(8)
            )
        ),
        ["spec.copies"]
    );
    assert_eq!(
        fields(
            &webhook,
            Some(&old),
            &with(&old, "/spec/labels", json!("more"))
        ),
        ["spec.labels"]
    );
}
