//! The single patch that moves an object: its changes, and the preconditions that must reject it.

use std::time::Duration;

use pointsman_rollout::{
    ClockReading, FleetObject, ObjectPatch, PlanInput, Rollout, RolloutStatus, RolloutWrite, plan,
};
use serde_json::{Value, json};

use crate::database::apply;
use crate::kinds::rollout_of;

pub(crate) const NOW: ClockReading = ClockReading { wall: 1_795_000_000, steady: Duration::ZERO };

fn rollout(direction: &str) -> Rollout {
    rollout_of(&json!({"waves": [{"name": "all"}], "direction": direction}))
}

fn moved(direction: &str, status: &RolloutStatus, object: &Value) -> (RolloutStatus, Value) {
    let rollout = rollout(direction);
    let fleet = [FleetObject::of(object, &rollout).unwrap()];
    let facts = PlanInput { consistent: true, ..PlanInput::default() };
    let plan = plan(&rollout, status, &fleet, facts, NOW);
    match plan.writes.as_slice() {
        [RolloutWrite::Status(_), RolloutWrite::Move(ObjectPatch { patch, uid, .. })] if uid == "u" => {
            (plan.status.clone(), patch.clone())
        }
        other => panic!("{other:?}"),
    }
}

fn patched(object: &Value, patch: &Value) -> Option<Value> {
    let mut next = object.clone();
    patch.as_array().unwrap().iter().try_for_each(|operation| apply(&mut next, operation))?;
    Some(next)
}

pub(crate) fn database(metadata: Value) -> Value {
    let mut object = json!({
        "metadata": {"namespace": "n", "name": "b", "uid": "u"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    object
}

#[test]
fn move_and_undo_patches_are_inverse() {
    let key = "example.com/controller-version";
    for metadata in [
        json!({"labels": {key: "2.16.0"}}),
        json!({"labels": {key: "2.16.0", "a~b/c": "d"}, "annotations": {"e": "f"}}),
        json!({"labels": {"other": "x"}, "annotations": {"e": "f"}}),
        json!({}),
    ] {
        let object = database(metadata);
        let (status, patch) = moved("Forward", &RolloutStatus::default(), &object);
        let there = patched(&object, &patch).unwrap();
        assert_eq!(there["metadata"]["labels"][key], "2.17.0");
        let mark: Value =
            serde_json::from_str(there["metadata"]["annotations"]["pointsman.dev/rollout"].as_str().unwrap()).unwrap();
        let was = object["metadata"]["labels"].get(key).cloned().unwrap_or_default();
        assert_eq!(mark, json!({"rollout": "rollout-1", "was": was, "to": "2.17.0", "at": "2026-11-18T11:06:40Z"}));
        assert_eq!(there["status"], object["status"]);
        let (_, patch) = moved("Undo", &status, &there);
        let mut home = patched(&there, &patch).unwrap();
        // The API server does not store empty maps.
        for what in ["labels", "annotations"] {
            if home["metadata"][what] == json!({}) {
                home["metadata"].as_object_mut().unwrap().remove(what);
            }
        }
        assert_eq!(home, object);
    }
}

#[test]
fn patch_needs_observed_state() {
    let key = "example.com/controller-version";
    let seen = database(json!({"labels": {key: "2.16.0"}}));
    let (status, forward) = moved("Forward", &RolloutStatus::default(), &seen);
    let there = patched(&seen, &forward).unwrap();
    let (_, back) = moved("Undo", &status, &there);
    let with = |object: &Value, path: &str, value: Value| {
        let mut other = object.clone();
        *other.pointer_mut(path).unwrap() = value;
        other
    };
    // Recreated, moved by another client, annotated in the meantime, already moved.
    let annotated = database(json!({"labels": {key: "2.16.0"}, "annotations": {"a": "b"}}));
    let label = "/metadata/labels/example.com~1controller-version";
    for other in [
        with(&seen, "/metadata/uid", json!("v")),
        with(&seen, label, json!("2.15.0")),
        database(json!({})),
        annotated,
        there.clone(),
        // Moved, then reverted by a client that does not know the rollout annotation.
        with(&there, label, json!("2.16.0")),
    ] {
        assert_eq!(patched(&other, &forward), None, "{other}");
    }
    let mark = "/metadata/annotations/pointsman.dev~1rollout";
    for other in [
        with(&there, "/metadata/uid", json!("v")),
        with(&there, label, json!("2.18.0")),
        with(&there, mark, json!("{}")),
        seen.clone(),
    ] {
        assert_eq!(patched(&other, &back), None, "{other}");
    }
    // A concurrent status write does not conflict.
    let busy = with(&seen, "/status/conditions", json!([{"type": "Ready", "status": "False"}]));
    assert!(patched(&busy, &forward).is_some());
}

/// A runner that lost the rollout to another runner must not move an object again after a client reset the label.
#[test]
fn reset_label_rejects_repeated_move() {
    let key = "example.com/controller-version";
    for metadata in [json!({"labels": {key: "2.16.0"}}), json!({"labels": {key: "2.16.0"}, "annotations": {"a": "b"}})]
    {
        let seen = database(metadata);
        let (_, forward) = moved("Forward", &RolloutStatus::default(), &seen);
        let mut reset = patched(&seen, &forward).unwrap();
        reset["metadata"]["labels"][key] = json!("2.16.0");
        assert_eq!(patched(&reset, &forward), None, "{seen}");
    }
}
