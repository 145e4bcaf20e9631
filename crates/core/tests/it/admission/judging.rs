//! Unusual labels, reviews and histories at the webhook.

use pointsman_core::webhook::{Endpoint, Enforcement, Flip, Settings};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::{gadget, load, plain, serving, version, with};

const LABEL: &str = "/metadata/labels/example.com~1managed-by-version";

fn strict(default: bool) -> pointsman_core::webhook::Webhook {
    let settings = Settings { default, served: vec![version("2.16.0"), version("2.17.0")], ..Settings::default() };
    serving(load("gadgets.yaml"), Some("2.17.0"), settings)
}

#[test]
fn bad_labels_are_ignored() {
    let long = "2.17.0-".to_owned() + &"x".repeat(60);
    let odd = [
        json!(""),
        json!("2.17.0 "),
        json!("2.17"),
        json!("v2.17.0"),
        json!("2.17.0-RC1"),
        json!(long),
        json!(5),
        json!({}),
        json!([]),
    ];
    for label in odd {
        let object = with(&gadget("v2", &json!({"replicas": 1})), LABEL, label.clone());
        for (operation, old) in [("CREATE", None), ("UPDATE", Some(&object))] {
            let review = review(operation, old, Some(&object));
            let stamped = ask(&strict(true), Endpoint::Mutate, &review);
            assert!(stamped.patch.is_empty(), "{label}: {stamped:?}");
            let (judgement, denial) =
                strict(true).judge(&object.to_string(), old.map(Value::to_string).as_deref()).unwrap();
            assert!(judgement.unjudged && denial.is_none(), "{label}: {denial:?}");
            // No correct configuration selects these objects.
            let refused = ask(&strict(true), Endpoint::Validate, &review);
            assert!(refused.message.contains("leads to the wrong server"), "{label}: {refused:?}");
        }
    }
    assert!("x".repeat(64).parse::<pointsman_core::webhook::ControllerVersion>().is_err());
    assert!(long.parse::<pointsman_core::webhook::ControllerVersion>().is_err());
}

#[test]
fn flip_and_change_are_judged_together() {
    let old = with(&gadget("v2", &json!({"replicas": 2})), LABEL, json!("2.16.0"));
    let bad = with(&with(&old, LABEL, json!("2.17.0")), "/spec/replicas", json!(1));
    let entered = ask(&strict(false), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&bad)));
    assert_eq!((entered.allowed, entered.flip), (false, Some(Flip::EnterRefused)));
    assert_eq!(
        entered.causes,
        [("spec.replicas".to_owned(), "Invalid value: 1: must be greater than or equal to 2".to_owned())]
    );
    // Violations that A allowed count as well: an object that enters a version is fully validated.
    let old = with(&old, "/spec/replicas", json!(1));
    let new = with(&old, LABEL, json!("2.17.0"));
    assert!(!ask(&strict(false), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new))).allowed);
    let left = serving(load("gadgets.yaml"), Some("2.16.0"), Settings::default());
    assert_eq!(ask(&left, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new))).flip, Some(Flip::Left));
}

#[test]
fn unenforced_denials_refuse_no_flip() {
    for enforcement in [Enforcement::Audit, Enforcement::Warn] {
        let webhook = serving(load("gadgets.yaml"), Some("2.17.0"), Settings { enforcement, ..Settings::default() });
        let old = with(&gadget("v2", &json!({"replicas": 1})), LABEL, json!("2.16.0"));
        let new = with(&old, LABEL, json!("2.17.0"));
        let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        assert_eq!((answer.allowed, answer.flip), (true, Some(Flip::Entered)));
        assert_eq!(answer.count("would_deny"), 1);
    }
}

#[test]
fn unserved_controller_versions_are_warned_of() {
    let old = with(&gadget("v2", &json!({"replicas": 2})), LABEL, json!("2.17.0"));
    let new = with(&old, LABEL, json!("3.0.0"));
    let answer = ask(&strict(false), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
    assert!(answer.allowed);
    assert_eq!(
        answer.warnings,
        [
            "metadata.labels[example.com/managed-by-version]: no server serves \"3.0.0\"; served versions: 2.16.0, 2.17.0"
        ]
    );
}

#[test]
fn update_without_old_is_create() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let bad = gadget("v2", &json!({"level": 99}));
    assert!(!ask(&webhook, Endpoint::Validate, &review("UPDATE", None, Some(&bad))).allowed);
    assert!(!ask(&webhook, Endpoint::Validate, &review("CREATE", Some(&bad), Some(&bad))).allowed);
    let create =
        ask(&strict(true), Endpoint::Mutate, &review("CREATE", Some(&with(&bad, LABEL, json!("2.16.0"))), Some(&bad)));
    assert_eq!(create.patched["metadata"]["labels"]["example.com/managed-by-version"], "2.17.0");
}

#[test]
fn kept_annotations_do_not_change_verdicts() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let newest = gadget("v2", &json!({"secret": "s", "replicas": 2}));
    let older: Value = serde_json::from_str(&webhook.convert(&newest.to_string(), "v1").unwrap().text).unwrap();
    let annotation = older["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotation.len(), 1, "v1 cannot say what the secret is: {older}");
    let key = annotation.keys().next().unwrap().replace('/', "~1");
    let pointer = format!("/metadata/annotations/{key}");
    let review = |new: &Value| review("UPDATE", Some(&older), Some(new));
    // `/mutate` restores the value, so `/validate` observes no change.
    let lost = with(&older, &pointer, Value::Null);
    let stamped = ask(&webhook, Endpoint::Mutate, &review(&lost));
    assert_eq!(stamped.patched.pointer(&pointer), older.pointer(&pointer));
    assert!(ask(&webhook, Endpoint::Validate, &review(&stamped.patched)).allowed);
    // Without `/mutate`, a metadata-only update is still accepted.
    assert!(ask(&webhook, Endpoint::Validate, &review(&lost)).allowed);
    // A forged kept annotation cannot change an immutable field; garbage is treated as plain data.
    for forged in ["", "{", "[]", "{\"spec.secret\":5}", "null", &"[".repeat(5000)] {
        let forged = with(&with(&older, &pointer, json!(forged)), "/spec/copies", json!(3));
        let answer = ask(&webhook, Endpoint::Validate, &review(&forged));
        assert!(!answer.allowed && answer.causes[0].0 == "spec.secret", "{answer:?}");
        assert!(ask(&webhook, Endpoint::Mutate, &review(&forged)).allowed);
    }
}
