//! Objects that somebody deletes in the middle of their journey, and that a finalizer keeps.

use pointsman_core::roll::{
    FleetObject, FleetRoll, Moment, RollFacts, RollPhase, RollPlan, RollStatus, RollWrite, plan, rfc3339,
};
use serde_json::{Value, json};

use super::refused::rolled;
use crate::boat::apply;
use crate::patches::NOW;

fn ship(name: &str) -> Value {
    json!({
        "metadata": {"namespace": "n", "name": name, "uid": format!("u-{name}")}, "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

fn planned(roll: &FleetRoll, status: &RollStatus, fleet: &[Value], after: u64) -> RollPlan {
    let fleet: Vec<FleetObject> = fleet.iter().map(|ship| FleetObject::of(ship, roll).unwrap()).collect();
    let now = Moment { wall: NOW.wall + after, ..NOW };
    plan(roll, status, &fleet, RollFacts { consistent: true, ..RollFacts::default() }, now)
}

/// The first ship is under way, by a write that is still to come.
fn begun(roll: &FleetRoll, fleet: &[Value]) -> RollPlan {
    // It says that it has begun before anything else.
    let told = planned(roll, &RollStatus::default(), fleet, 0).status;
    let first = planned(roll, &told, fleet, 0);
    assert_eq!((uids(&first.status), moves(&first).len()), (vec!["u-a"], 1), "{:?}", first.status);
    first
}

fn moves(plan: &RollPlan) -> Vec<&Value> {
    let patches = plan.writes.iter().filter_map(|write| match write {
        RollWrite::Move(one) => Some(&one.patch),
        _ => None,
    });
    patches.collect()
}

fn uids(status: &RollStatus) -> Vec<&str> {
    status.reserved.iter().map(|one| one.uid.as_str()).collect()
}

/// It is half-way until it is gone: nothing more is done to it, and no other one goes in its place.
#[test]
fn what_is_deleted_on_its_journey_keeps_its_place_until_it_is_gone() {
    let lock = json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}});
    let note = json!({"name": "note", "set": {"fields": {"spec.note.other": "x"}}});
    let roll = rolled(&json!({"j": [lock, note]}), &json!({"timeout": "10m"})).unwrap();
    let mut fleet = [ship("a"), ship("b")];
    let first = begun(&roll, &fleet);
    for operation in moves(&first)[0].as_array().unwrap() {
        apply(&mut fleet[0], operation).unwrap();
    }
    assert_eq!(fleet[0]["spec"]["lock"], "v2");
    let goes_on = planned(&roll, &first.status, &fleet, 5);
    assert_eq!((uids(&goes_on.status), moves(&goes_on).len()), (vec!["u-a"], 1));
    fleet[0]["metadata"]["deletionTimestamp"] = json!(rfc3339(NOW.wall + 5));
    fleet[0]["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let kept = planned(&roll, &first.status, &fleet, 10);
    assert_eq!((uids(&kept.status), kept.status.counts.moving), (vec!["u-a"], 1), "{:?}", kept.standings);
    assert!(moves(&kept).is_empty(), "{:?}", kept.writes);
    let late = planned(&roll, &kept.status, &fleet, 700).status;
    assert_eq!((late.phase, uids(&late)), (RollPhase::Paused, vec!["u-a"]));
    let why = "it is being deleted, and not gone within 10m: example.com/keep of its metadata.finalizers hold it";
    assert!(late.message.contains(why), "{}", late.message);
    let after = planned(&roll, &kept.status, &fleet[1..], 20).status;
    assert_eq!(uids(&after), ["u-b"]);
}

/// Nothing of it is done yet.
#[test]
fn what_is_deleted_before_its_journey_leaves_its_place() {
    let lock = json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}});
    let roll = rolled(&json!({"j": [lock]}), &json!({})).unwrap();
    let mut fleet = [ship("a"), ship("b")];
    let first = begun(&roll, &fleet);
    fleet[0]["metadata"]["deletionTimestamp"] = json!(rfc3339(NOW.wall + 5));
    assert_eq!(uids(&planned(&roll, &first.status, &fleet, 10).status), ["u-b"]);
}
