//! Reviews that no correct configuration can send are refused, with the wrong configuration; and the counts and
//! messages of correct reviews.

use pointsman_core::webhook::{Endpoint, Enforcement, Flip, Settings};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::matrix::{A, B, MALFORMED, UNKNOWN, labelled};
use super::{gadget, load, plain, serving, version, with};

/// True if a server may receive an object with this label change.
fn expected(old: Option<Option<&str>>, new: Option<&str>, default: bool, shadowed: Option<&str>) -> bool {
    let selected = |label: Option<&str>| match label {
        None => default,
        Some(label) => label == B || Some(label) == shadowed,
    };
    selected(new) || old.is_some_and(selected)
}

#[test]
fn misdirected_reviews_are_refused() {
    let labels = [None, Some(A), Some(B), Some(UNKNOWN), Some(MALFORMED)];
    let base = gadget("v2", &json!({"replicas": 2}));
    let (mut refused, mut taken) = (0, 0);
    for (default, shadowed) in [(false, None), (true, None), (false, Some(A)), (true, Some(A))] {
        let settings =
            Settings { default, shadowed: shadowed.map(version).into_iter().collect(), ..Settings::default() };
        let webhook = serving(load("gadgets.yaml"), Some(B), settings);
        for old in [None].into_iter().chain(labels.map(Some)) {
            for new in labels {
                let before = old.map(|old| labelled(&base, old));
                let operation = if before.is_some() { "UPDATE" } else { "CREATE" };
                let request = review(operation, before.as_ref(), Some(&labelled(&base, new)));
                let place = format!("{old:?} to {new:?}, default {default}, shadowed {shadowed:?}");
                let answer = ask(&webhook, Endpoint::Validate, &request);
                if expected(old, new, default, shadowed) {
                    assert!(!answer.message.contains("wrong server"), "{place}: {answer:?}");
                    taken += 1;
                    continue;
                }
                assert_eq!((answer.allowed, answer.code), (false, 400), "{place}: {answer:?}");
                assert!(answer.message.contains("leads to the wrong server"), "{place}: {answer:?}");
                let counted = answer.verdicts.iter().map(|verdict| (&*verdict.rule, verdict.effect));
                assert_eq!(counted.collect::<Vec<_>>(), [("registration", "deny")], "{place}");
                refused += 1;
                // A terminating object is never blocked.
                if let Some(before) = before {
                    let going =
                        |object: &Value| with(object, "/metadata/deletionTimestamp", json!("2026-11-20T10:36:38Z"));
                    let request = review("UPDATE", Some(&going(&before)), Some(&going(&before)));
                    assert!(ask(&webhook, Endpoint::Validate, &request).allowed, "{place}");
                }
            }
        }
    }
    assert!(refused > 20 && taken > 50, "{refused} {taken}");
}

/// The API server removes that field from a created object after admission: the field must not bypass validation.
#[test]
fn terminating_creation_is_judged() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let going =
        with(&gadget("v2", &json!({"replicas": 9})), "/metadata/deletionTimestamp", json!("2026-11-20T10:36:38Z"));
    assert!(!ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&going))).allowed);
    let settings = Settings { controller: Some(version(B)), ..Settings::default() };
    let webhook = serving(load("gadgets.yaml"), Some(B), settings);
    let other = labelled(&going, Some(A));
    assert!(!ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&other))).allowed);
}

#[test]
fn dry_runs_change_no_count() {
    let webhook = serving(load("gadgets.yaml"), Some(B), Settings::default());
    let base = gadget("v2", &json!({"replicas": 2}));
    let mut request = review("UPDATE", Some(&labelled(&base, Some(A))), Some(&labelled(&base, Some(B))));
    assert_eq!(ask(&webhook, Endpoint::Validate, &request).flip, Some(Flip::Entered));
    request["request"]["dryRun"] = json!(true);
    assert_eq!(ask(&webhook, Endpoint::Validate, &request).flip, None);
    // The version that is entered reports whether a released object has arrived.
    assert_eq!(Flip::Left.name(), "let_go");
}

#[test]
fn audit_mode_warns_nobody() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Audit);
    let old = gadget("v1", &json!({"copies": 2}));
    let new = with(&with(&old, "/spec/level", json!("3")), "/spec/copies", json!(9));
    let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
    assert!(answer.allowed && answer.warnings.is_empty(), "{answer:?}");
    assert!(answer.audit["would-deny"].as_str().is_some_and(|told| told.contains("spec.copies")));
    assert_eq!(answer.count("warn"), 2, "they count: {:?}", answer.verdicts);
}

#[test]
fn deprecated_field_warns_on_spec_edit() {
    let webhook = plain(load("gadgets.yaml"), Enforcement::Enforce);
    let old = gadget("v1", &json!({"copies": 2, "level": "3"}));
    let told = |old: Option<&Value>, new: &Value| {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let warnings = ask(&webhook, Endpoint::Validate, &review(operation, old, Some(new))).warnings;
        warnings.iter().filter(|warning| warning.contains("deprecated")).count()
    };
    assert_eq!(told(None, &old), 1);
    assert_eq!(told(Some(&old), &with(&old, "/spec/copies", json!(3))), 1);
    assert_eq!(told(Some(&old), &with(&old, "/metadata/labels/app", json!("x"))), 0);
    assert_eq!(told(Some(&old), &with(&old, "/status", json!({"phase": "x"}))), 0);
}
