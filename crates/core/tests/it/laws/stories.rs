//! The rollout status of a Materialize, as sequences of actions by users and by controllers of both versions.

use uuid::Uuid;

use crate::kinds::{WEBHOOK, convert, data};
use crate::value::{Value, Written, text};

const NIL: &str = "00000000-0000-0000-0000-000000000000";
pub(super) const FIRST: &str = "11111111-1111-4111-8111-11111111111a";
pub(super) const SECOND: &str = "22222222-2222-4222-8222-22222222222b";
pub(super) const COMPLETED: &str = "status.lastCompletedRolloutHash";
pub(super) const REQUESTED: &str = "status.requestedRolloutHash";
pub(super) const REQUEST: &str = "spec.requestRollout";
pub(super) const DONE: &str = "status.lastCompletedRolloutRequest";

pub(super) fn fixture(name: &str) -> Value {
    Value::yaml(&data(&format!("fixtures/{name}.yaml")))
}

/// An object of the older version with its request, its completed request, and the reason of its status.
pub(super) fn older(request: &str, done: &str, reason: &str) -> Value {
    let mut object = fixture("rollout-completed");
    object.set(REQUEST, text(request));
    object.set(DONE, text(done));
    for field in [COMPLETED, REQUESTED] {
        object.take(field);
    }
    let condition = Value::Object([("reason".to_owned(), text(reason)), ("type".to_owned(), text("UpToDate"))].into());
    object.set("status.conditions", Value::List(vec![condition]));
    object
}

pub(super) fn up(object: &Value) -> Value {
    convert(object, "v1alpha2").unwrap_or_else(|error| panic!("{error}: {}", object.to_text()))
}

pub(super) fn down(object: &Value) -> Value {
    convert(object, "v1alpha1").unwrap_or_else(|error| panic!("{error}: {}", object.to_text()))
}

/// The older version's object after storage at the newer version.
pub(super) fn stored(object: &Value) -> Value {
    let stored = up(object);
    assert_eq!(up(&down(&stored)), stored, "stored again");
    stored
}

pub(super) fn hash(object: &Value) -> Value {
    text(&WEBHOOK.preimage(&object.to_text()).unwrap().hash())
}

pub(super) fn derived(hash: &Value) -> Value {
    text(&Uuid::new_v5(&Uuid::NAMESPACE_OID, hash.as_str().unwrap().as_bytes()).to_string())
}

/// The newer version's controller view: completed and requested, with `H` for the hash of the spec.
pub(super) fn hashes(object: &Value) -> (String, String) {
    let calculated = hash(object);
    let shown = |field: &str| match object.field(field) {
        Some(value) if *value == calculated => "H".to_owned(),
        Some(value) => value.to_text(),
        None => "-".to_owned(),
    };
    (shown(COMPLETED), shown(REQUESTED))
}

/// True if an old controller or a script reads the request as completed.
pub(super) fn says_done(object: &Value) -> bool {
    let uuid = |field: &str| object.field(field).and_then(Value::as_str).and_then(|text| Uuid::try_parse(text).ok());
    uuid(REQUEST).is_some() && uuid(REQUEST) == uuid(DONE)
}

#[test]
fn first_migration_follows_requests() {
    for (what, object, completed, requested) in [
        ("settled", older(FIRST, FIRST, "Applied"), "H", "H"),
        ("in another spelling", older(FIRST, "1111111111114111811111111111111A", "Applied"), "H", "H"),
        ("upper-case", older(&FIRST.to_uppercase(), FIRST, "Applied"), "H", "H"),
        ("rolling out", older(SECOND, FIRST, "Applying"), "-", "H"),
        ("ready", older(SECOND, FIRST, "ReadyToPromote"), "-", "H"),
        ("promoting", older(SECOND, FIRST, "Promoting"), "-", "-"),
        ("promoting what is done", older(FIRST, FIRST, "Promoting"), "-", "-"),
        ("nothing was ever asked for", older(NIL, NIL, "Applied"), "-", "H"),
        ("nil without hyphens", older(NIL, "00000000000000000000000000000000", "Applied"), "-", "H"),
        ("staged", older(FIRST, FIRST, "WaitingForApproval"), "H", "H"),
        ("timed out", older(FIRST, FIRST, "RolloutTimeout"), "H", "H"),
    ] {
        let newer = stored(&object);
        assert_eq!(hashes(&newer), (completed.to_owned(), requested.to_owned()), "{what}");
        assert_eq!((newer.field(REQUEST), newer.field(DONE)), (None, None), "{what}");
        let mut home = down(&newer);
        for (field, was) in [(COMPLETED, completed), (REQUESTED, requested)] {
            assert_eq!(home.take(field).is_some(), was != "-", "{what}");
        }
        super::same(what, &object, &home).unwrap();
    }
}

#[test]
fn completed_promotion_is_reported() {
    let staged = |reason: &str| WEBHOOK.convert(&older(FIRST, FIRST, reason).to_text(), "v1alpha2").unwrap().staged;
    assert!(staged("WaitingForApproval") && staged("RolloutTimeout"));
    assert!(!staged("Applied") && !staged("Promoting"));
}

#[test]
fn new_request_keeps_hashes() {
    let mut home = down(&stored(&older(FIRST, FIRST, "Applied")));
    home.set(REQUEST, text(SECOND));
    let newer = stored(&home);
    assert_eq!(hashes(&newer), ("H".to_owned(), "H".to_owned()));
    let home = down(&newer);
    assert_eq!(home.field(REQUEST), Some(&text(SECOND)));
    assert!(says_done(&home), "the hash is the spec's: nothing is left to do");
}

#[test]
fn old_controller_completion_counts() {
    for trips in 0..4 {
        let mut object = older(SECOND, FIRST, "Applying");
        for _ in 0..trips {
            object = down(&stored(&object));
        }
        assert!(!says_done(&object), "after {trips} trips");
        // A merge patch of that single status field.
        object.set(DONE, text(SECOND));
        let newer = stored(&object);
        assert_eq!(hashes(&newer), ("H".to_owned(), "H".to_owned()), "after {trips} trips");
        assert!(says_done(&down(&newer)));
    }
}

#[test]
fn older_spec_edit_is_pending() {
    for born_newer in [false, true] {
        let start = stored(&older(FIRST, FIRST, "Applied"));
        let start = if born_newer { super::without_ours(&start) } else { start };
        let mut home = down(&start);
        assert!(says_done(&home));
        home.set("spec.environmentdImageRef", text("materialize/environmentd:v99.0.0"));
        if !born_newer {
            home.set(REQUEST, text(SECOND));
        }
        let newer = stored(&home);
        let (completed, requested) = hashes(&newer);
        assert_ne!(completed, "H", "the controller has not looked yet");
        assert_eq!(completed, requested, "the status before the conversion");
        let home = down(&newer);
        assert!(!says_done(&home), "{}", home.to_text());
        // The new controller starts and finishes.
        let mut newer = newer;
        newer.set(REQUESTED, hash(&newer));
        assert!(!says_done(&down(&newer)));
        newer.set(COMPLETED, hash(&newer));
        let home = down(&newer);
        assert!(says_done(&home));
        let expected = if born_newer { derived(&hash(&newer)) } else { text(SECOND) };
        assert_eq!(home.field(REQUEST), Some(&expected), "the user's own request");
        assert_eq!(up(&home), up(&down(&up(&home))));
    }
}

#[test]
fn older_status_edit_moves_nothing() {
    for object in [older(FIRST, FIRST, "Applied"), older(SECOND, FIRST, "Applying"), older(SECOND, FIRST, "Promoting")]
    {
        let before = stored(&object);
        let mut home = down(&before);
        home.set("status.activeGeneration", Value::Number("77".to_owned()));
        let after = stored(&home);
        assert_eq!(hashes(&before), hashes(&after));
    }
}

#[test]
fn newer_object_gets_own_request() {
    let newer = fixture("v1alpha2-force-promote");
    let home = down(&newer);
    assert_eq!(home.field(REQUEST), Some(&derived(&hash(&newer))));
    assert!(!says_done(&home) || newer.field(COMPLETED) == Some(&hash(&newer)));
    assert_eq!(home.field("spec.forcePromote"), newer.field("spec.forcePromote"), "verbatim");
    assert_eq!(up(&home), newer, "clean again");
    // Without a completed hash, the completed request differs from every real request.
    let mut fresh = newer.clone();
    fresh.take(COMPLETED);
    assert_eq!(down(&fresh).field(DONE), Some(&derived(&text(""))));
    // The spelling of derived values does not matter.
    let mut spelled = home.clone();
    let loud = |value: &Value| text(&value.as_str().unwrap().to_uppercase().replace('-', ""));
    for field in [REQUEST, DONE] {
        spelled.set(field, loud(home.field(field).unwrap()));
    }
    assert_eq!(up(&spelled), newer);
}
