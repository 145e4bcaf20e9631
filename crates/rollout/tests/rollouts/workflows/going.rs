//! Objects that a client deletes during their workflow and that a finalizer keeps.

use pointsman_rollout::{
    ClockReading, FleetObject, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite, plan,
    rfc3339,
};
use serde_json::{Value, json};

use super::refused::rolled;
use crate::database::apply;
use crate::patches::NOW;

fn ship(name: &str) -> Value {
    json!({
        "metadata": {"namespace": "n", "name": name, "uid": format!("u-{name}")}, "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn planned(rollout: &Rollout, status: &RolloutStatus, fleet: &[Value], after: u64) -> RolloutPlan {
    let fleet: Vec<FleetObject> = fleet.iter().map(|ship| FleetObject::of(ship, rollout).unwrap()).collect();
    let now = ClockReading { wall: NOW.wall + after, ..NOW };
    plan(rollout, status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, now)
}

/// The first ship is in flight, with its write still pending.
fn begun(rollout: &Rollout, fleet: &[Value]) -> RolloutPlan {
    // The first plan writes only the status, which reserves the object.
    let told = planned(rollout, &RolloutStatus::default(), fleet, 0).status;
    let first = planned(rollout, &told, fleet, 0);
    assert_eq!((uids(&first.status), moves(&first).len()), (vec!["u-a"], 1), "{:?}", first.status);
    first
}

fn moves(plan: &RolloutPlan) -> Vec<&Value> {
    let patches = plan.writes.iter().filter_map(|write| match write {
        RolloutWrite::Move(one) => Some(&one.patch),
        _ => None,
    });
    patches.collect()
}

fn uids(status: &RolloutStatus) -> Vec<&str> {
    status.in_flight.iter().map(|one| one.uid.as_str()).collect()
}

/// The object is in flight until its deletion: no further step runs, and no other object takes its slot.
#[test]
fn terminating_object_keeps_its_slot() {
    let lock = json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}});
    let note = json!({"name": "note", "set": {"fields": {"spec.note.other": "x"}}});
    let rollout = rolled(&json!({"j": [lock, note]}), &json!({"timeout": "10m"})).unwrap();
    let mut fleet = [ship("a"), ship("b")];
    let first = begun(&rollout, &fleet);
    for operation in moves(&first)[0].as_array().unwrap() {
        apply(&mut fleet[0], operation).unwrap();
    }
    assert_eq!(fleet[0]["spec"]["lock"], "v2");
    let goes_on = planned(&rollout, &first.status, &fleet, 5);
    assert_eq!((uids(&goes_on.status), moves(&goes_on).len()), (vec!["u-a"], 1));
    fleet[0]["metadata"]["deletionTimestamp"] = json!(rfc3339(NOW.wall + 5));
    fleet[0]["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let kept = planned(&rollout, &first.status, &fleet, 10);
    assert_eq!((uids(&kept.status), kept.status.counts.in_flight), (vec!["u-a"], 1), "{:?}", kept.object_states);
    assert!(moves(&kept).is_empty(), "{:?}", kept.writes);
    let late = planned(&rollout, &kept.status, &fleet, 700).status;
    assert_eq!((late.phase, uids(&late)), (RolloutPhase::Paused, vec!["u-a"]));
    let why = "is still terminating after 10m: example.com/keep of metadata.finalizers block the deletion";
    assert!(late.message.contains(why), "{}", late.message);
    let after = planned(&rollout, &kept.status, &fleet[1..], 20).status;
    assert_eq!(uids(&after), ["u-b"]);
}

/// No step of the object is done yet.
#[test]
fn terminating_pending_object_frees_slot() {
    let lock = json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}});
    let rollout = rolled(&json!({"j": [lock]}), &json!({})).unwrap();
    let mut fleet = [ship("a"), ship("b")];
    let first = begun(&rollout, &fleet);
    fleet[0]["metadata"]["deletionTimestamp"] = json!(rfc3339(NOW.wall + 5));
    assert_eq!(uids(&planned(&rollout, &first.status, &fleet, 10).status), ["u-b"]);
}
