//! Single rules, in every version of the request.

use pointsman_core::webhook::{Endpoint, Enforcement, Webhook};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::ratchet::harmless;
use super::{gadget, load, plain, with};

/// Denied for these fields.
fn fields(webhook: &Webhook, old: Option<&Value>, new: &Value) -> Vec<String> {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let answer = ask(webhook, Endpoint::Validate, &review(operation, old, Some(new)));
    answer.causes.into_iter().map(|(field, _)| field).collect()
}

/// A gadget that satisfies every rule.
fn good(version: &str) -> Value {
    match version {
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
    }
}

#[test]
fn field_paths_follow_the_request_version() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    for (version, pointer, bad, field) in [
        ("v2", "/spec/replicas", json!(9), "spec.replicas"),
        ("v1", "/spec/copies", json!(9), "spec.copies"),
        ("v0", "/spec/size", json!(9), "spec.size"),
        ("v2", "/spec/id", json!("33333333-3333-3333-3333-333333333333"), "spec.id"),
        ("v1", "/spec/identity", json!("33333333-3333-3333-3333-333333333333"), "spec.identity"),
        ("v0", "/spec/identity", Value::Null, "spec.identity"),
        ("v2", "/spec/endpoint/port", json!(0), "spec.endpoint.port"),
        ("v1", "/spec/hostPort", json!("h:0"), "spec.hostPort"),
        ("v0", "/spec/hostPort", json!("h:70000"), "spec.hostPort"),
        ("v2", "/spec/tls/secretName", Value::Null, "spec.tls.secretName"),
        ("v1", "/spec/certificate/secretName", Value::Null, "spec.certificate.secretName"),
        ("v1", "/spec/certificate/issuer", Value::Null, "spec.certificate.issuer"),
        ("v2", "/spec/tls/renewal", json!("1 h"), "spec.tls.renewal"),
        ("v1", "/spec/certificate/renewal", json!("1 h"), "spec.certificate.renewal"),
        ("v2", "/spec/level", json!(10), "spec.level"),
        ("v1", "/spec/level", json!("10"), "spec.level"),
        ("v1", "/spec/release", json!("1.3.0"), "spec.release"),
    ] {
        let old = good(version);
        assert_eq!(fields(&webhook, Some(&old), &old), [""; 0], "{version}");
        let new = with(&old, pointer, bad);
        assert_eq!(fields(&webhook, Some(&old), &new), [field], "{version} {pointer}");
        // An old violation is a warning with the same text.
        if !pointer.ends_with("identity") && !pointer.ends_with("id") && !pointer.ends_with("release") {
            let later = with(&new, "/spec/labels", json!({"a": "b"}));
            let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&new), Some(&later)));
            assert!(
                answer.allowed
                    && answer.warnings.iter().any(|warning| warning.starts_with(&format!("{field}: "))
                        && warning.ends_with("(existed before, so the value may stay)")),
                "{answer:?}"
            );
        }
    }
    let nobody = ask(
        &webhook,
        Endpoint::Validate,
        &review("CREATE", None, Some(&with(&good("v1"), "/spec/owner", json!("nobody")))),
    );
    assert!(
        nobody.warnings.contains(&"spec.owner: somebody should answer for this".to_owned()),
        "{:?}",
        nobody.warnings
    );
}

#[test]
fn required_fields_may_not_be_removed() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget("v2", &json!({"tls": {"secretName": "s", "issuer": {"name": "i"}}}));
    for empty in [Value::Null, json!(""), json!({})] {
        let field = if empty == json!("") { "secretName" } else { "issuer" };
        let new = with(&old, &format!("/spec/tls/{field}"), empty);
        assert_eq!(fields(&webhook, Some(&old), &new), [format!("spec.tls.{field}")]);
    }
    let bare = gadget("v2", &json!({"tls": {"secretName": "s"}}));
    assert_eq!(fields(&webhook, Some(&bare), &with(&bare, "/spec/replicas", json!(3))), [""; 0]);
    // Fixing one of two violations is not refused because of the other.
    let both = gadget("v2", &json!({"tls": {}}));
    assert_eq!(fields(&webhook, Some(&both), &bare), [""; 0]);
    assert_eq!(fields(&webhook, Some(&both), &with(&both, "/spec/tls/renewal", json!("1x"))), ["spec.tls.renewal"]);
    assert_eq!(fields(&webhook, Some(&gadget("v2", &json!({"tls": null}))), &both).len(), 2);
}

#[test]
fn immutable_fields_can_be_set_once() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let (one, two) = ("aaaaaaaa-2222-2222-2222-222222222222", "bbbbbbbb-2222-2222-2222-222222222222");
    let id = |id: Value| gadget("v2", &json!({"id": id}));
    let change = |old: Value, new: Value| fields(&webhook, Some(&id(old)), &id(new)).is_empty();
    assert!(change(Value::Null, json!(one)), "null is not set");
    assert!(fields(&webhook, Some(&gadget("v2", &json!({}))), &id(json!(one))).is_empty(), "absent is not set");
    assert!(change(json!(""), json!(one)), "an empty string is no value of any UUID");
    assert!(change(json!(one), json!(one.to_uppercase())) && change(json!(one), json!(one.replace('-', ""))));
    assert!(!change(json!(one), json!(two)) && !change(json!(one), json!("")) && !change(json!(one), Value::Null));
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
        webhook.judge(&object(new), Some(&object(old))).unwrap().0.errors.len()
    };
    for (old, new) in
        [("10", "10.0"), ("10.0", "10"), ("1e1", "10"), ("99999999999999999999", "99999999999999999999.0")]
    {
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
fn unreadable_objects_can_be_repaired() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget("v1", &json!({"labels": "many", "copies": 9, "certificate": {}}));
    for (_, new) in harmless(&old).into_iter().filter(|(what, _)| *what != "another spelling") {
        assert_eq!(fields(&webhook, Some(&old), &new), [""; 0], "{new}");
    }
    // After the repair the object is validated again; its other violations are old.
    assert_eq!(fields(&webhook, Some(&old), &with(&old, "/spec/labels", json!({"a": "1"}))), [""; 0]);
    assert_eq!(
        fields(&webhook, Some(&old), &with(&with(&old, "/spec/labels", json!({"a": "1"})), "/spec/copies", json!(8))),
        ["spec.copies"]
    );
    assert_eq!(fields(&webhook, Some(&old), &with(&old, "/spec/labels", json!("more"))), ["spec.labels"]);
}
