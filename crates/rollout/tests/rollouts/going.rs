//! Objects that a client deletes in flight and that a finalizer keeps.

use pointsman_rollout::{
    ClockReading, Direction, FleetObject, ObjectState, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus,
    plan, rfc3339,
};
use serde_json::{Value, json};

use crate::database::{ANNOTATION, Database};
use crate::kinds::rollout_of;
use crate::patches::NOW;
use crate::world::{LABEL, NEW, OLD};

fn rollout(members: &Value) -> Rollout {
    let mut all =
        json!({"from": OLD, "waves": [{"name": "all", "maxInFlight": 1}], "timeout": "10m", "maxUnhealthy": 5});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    rollout_of(&all)
}

fn database(at: usize, label: &str) -> Database {
    let mut metadata =
        json!({"namespace": "n", "name": format!("b-{at}"), "uid": format!("u-{at}"), "labels": {LABEL: label}});
    if label == NEW {
        let mark = json!({"rollout": "rollout-1", "was": OLD, "to": NEW, "at": rfc3339(NOW.wall)});
        metadata["annotations"] = json!({ANNOTATION: mark.to_string()});
    }
    Database::new(metadata)
}

/// A database that was deleted this many seconds after the start and is kept by a finalizer.
fn going(at: usize, label: &str, after: u64) -> Database {
    let mut database = database(at, label);
    database.deleted(NOW.wall + after);
    database
}

fn planned(rollout: &Rollout, status: &RolloutStatus, there: &[Database], after: u64, consistent: bool) -> RolloutPlan {
    let fleet: Vec<FleetObject> =
        there.iter().map(|database| FleetObject::of(&database.value(), rollout).unwrap()).collect();
    let now = ClockReading { wall: NOW.wall + after, ..NOW };
    plan(rollout, status, &fleet, PlanInput { consistent, ..PlanInput::default() }, now)
}

/// The first of two databases is in flight.
fn begun(rollout: &Rollout) -> RolloutStatus {
    let status = planned(rollout, &RolloutStatus::default(), &[database(0, OLD), database(1, OLD)], 0, true).status;
    assert_eq!(uids(&status), ["u-0"]);
    status
}

fn uids(status: &RolloutStatus) -> Vec<&str> {
    status.in_flight.iter().map(|one| one.uid.as_str()).collect()
}

/// The object is at the new version and unhealthy: no other object takes its slot before the object is deleted.
#[test]
fn terminating_object_keeps_its_slot() {
    let rollout = rollout(&json!({}));
    let status = begun(&rollout);
    let plan = planned(&rollout, &status, &[going(0, NEW, 5), database(1, OLD)], 10, true);
    assert_eq!((uids(&plan.status), plan.status.counts.in_flight), (vec!["u-0"], 1), "{:?}", plan.object_states);
    let why = "is terminating: example.com/keep of metadata.finalizers block the deletion";
    assert!(plan.object_states[0].why().starts_with(why), "{:?}", plan.object_states);
    let after = planned(&rollout, &plan.status, &[database(1, OLD)], 20, true);
    assert_eq!(uids(&after.status), ["u-1"], "the object is deleted");
}

/// The finalizer's owner may not exist any more. The object fails after its timeout, counted from its deletion, and the
/// message names the finalizer. The runner does not revert the object, and the others wait for an operator.
#[test]
fn stuck_terminating_object_fails() {
    for on_failure in ["Pause", "Undo", "UndoAll"] {
        let rollout = rollout(&json!({"onFailure": on_failure}));
        let there = [going(0, NEW, 300), database(1, OLD)];
        let waits = planned(&rollout, &begun(&rollout), &there, 890, true).status;
        assert_eq!((waits.phase, uids(&waits)), (RolloutPhase::Rolling, vec!["u-0"]), "{on_failure}");
        let late = planned(&rollout, &waits, &there, 902, true);
        let why = "is still terminating after 10m: example.com/keep of metadata.finalizers block the deletion: their controllers must act";
        assert_eq!(
            (late.status.phase, late.status.direction),
            (RolloutPhase::Paused, Direction::Forward),
            "{on_failure}"
        );
        assert!(matches!(&late.object_states[0], ObjectState::Failed(said) if said == why), "{:?}", late.object_states);
        assert!(late.status.message.ends_with(why), "{}", late.status.message);
        assert_eq!(late.status.failures.len(), 1);
        let again = planned(&rollout, &late.status, &there, 910, true).status;
        assert_eq!((again.failures.len(), uids(&again)), (1, vec!["u-0"]), "it is said once");
        // An operator has removed the finalizer.
        let mut resumed = again;
        resumed.resume(ClockReading { wall: NOW.wall + 920, ..NOW });
        let after = planned(&rollout, &resumed, &there[1..], 930, true).status;
        assert_eq!(uids(&after), ["u-1"], "{on_failure}: {}", after.message);
    }
}

/// The object was not written yet, according to a list that bypasses the cache.
#[test]
fn terminating_pending_object_frees_slot() {
    let rollout = rollout(&json!({}));
    let status = begun(&rollout);
    let there = [going(0, OLD, 5), database(1, OLD)];
    let cached = planned(&rollout, &status, &there, 10, false);
    assert!(cached.wants_list && uids(&cached.status) == ["u-0"], "it may have moved since: {:?}", cached.status);
    let listed = planned(&rollout, &status, &there, 10, true).status;
    assert_eq!(uids(&listed), ["u-1"]);
}

/// Also on undo: an object that was turned back in flight is healthy at no version.
#[test]
fn terminating_undone_object_keeps_slot() {
    let status = begun(&rollout(&json!({})));
    let back = rollout(&json!({"direction": "Undo"}));
    for label in [NEW, OLD] {
        let turned = planned(&back, &status, &[database(0, NEW), database(1, NEW)], 10, true).status;
        assert_eq!((uids(&turned), turned.in_flight[0].back), (vec!["u-0"], true));
        let there = [going(0, label, 20), database(1, NEW)];
        let kept = planned(&back, &turned, &there, 30, true).status;
        assert_eq!(uids(&kept), ["u-0"], "{label}");
        let late = planned(&back, &kept, &there, 700, true).status;
        assert_eq!(late.phase, RolloutPhase::Paused, "{label}");
        assert!(late.message.contains("is still terminating after 10m"), "{label}: {}", late.message);
        let after = planned(&back, &kept, &there[1..], 40, true).status;
        assert_eq!(uids(&after), ["u-1"], "{label}");
    }
}
