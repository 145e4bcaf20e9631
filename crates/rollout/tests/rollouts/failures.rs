//! Messages of a StagedRollout about failed objects.

use pointsman_rollout::{ClockReading, FleetObject, PlanInput, Rollout, RolloutPhase, RolloutStatus, plan};
use serde_json::{Value, json};

use crate::database::{ANNOTATION, Database};
use crate::kinds::rollout_of;
use crate::patches::NOW;
use crate::world::{LABEL, NEW, OLD};

fn rollout(direction: &str) -> Rollout {
    rollout_of(&json!({"waves": [{"name": "all"}], "direction": direction, "timeout": "10m"}))
}

/// A database at this version. With `was`, the database has the rollout annotation.
fn database(label: Option<&str>, was: Option<&Value>) -> Database {
    let mut metadata = json!({"namespace": "n", "name": "b", "uid": "u", "labels": {"a": "b"}});
    if let Some(label) = label {
        metadata["labels"][LABEL] = json!(label);
    }
    if let Some(was) = was {
        let mark = json!({"rollout": "rollout-1", "was": was, "to": NEW, "at": "2026-11-18T11:06:40Z"});
        metadata["annotations"] = json!({ANNOTATION: mark.to_string()});
    }
    Database::new(metadata)
}

fn planned(direction: &str, status: &RolloutStatus, there: &Database, after: u64) -> RolloutStatus {
    let rollout = rollout(direction);
    let fleet = [FleetObject::of(&there.value(), &rollout).unwrap()];
    let now = ClockReading { wall: NOW.wall + after, ..NOW };
    plan(&rollout, status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, now).status
}

/// If an object does not become healthy, the message names the version the object moves to.
#[test]
fn failed_object_names_its_workflow() {
    for (was, there, back) in [
        (json!(OLD), database(Some(OLD), None), format!("label {LABEL} back to {OLD}: not healthy within 10m: ")),
        (Value::Null, database(None, None), format!("label {LABEL} taken off again: not healthy within 10m: ")),
    ] {
        let reserved = planned("Forward", &RolloutStatus::default(), &database(was.as_str(), None), 0);
        let moved = database(Some(NEW), Some(&was));
        let forward = planned("Forward", &reserved, &moved, 601);
        let said = format!("label {LABEL} to {NEW}: not healthy within 10m: ");
        assert!(forward.failures[0].message.starts_with(&said), "{:?}", forward.failures);
        let turned = planned("Undo", &reserved, &moved, 1);
        assert!(turned.in_flight[0].back, "{:?}", turned.in_flight);
        let failed = planned("Undo", &turned, &there, 700);
        assert_eq!(failed.phase, RolloutPhase::Paused);
        assert!(failed.failures[0].message.starts_with(&back), "{:?}", failed.failures);
        assert!(failed.message.starts_with(&format!("n/b: {back}")), "{}", failed.message);
    }
}
