//! Held objects, in cases that histories do not cover: holds of deleted rollouts, and objects outside the rollout's
//! selector.

use pointsman_rollout::{
    FleetObject, ObjectPatch, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite, plan,
};
use serde_json::{Value, json};

use crate::database::Database;
use crate::kinds::rollout_of;
use crate::patches::NOW;
use crate::world::{LABEL, NEW, OLD};

const HELD: &str = "pointsman.dev/hold";
const WANTED: &str = "pointsman.dev/wanted-version";

fn rollout(members: Value) -> Rollout {
    let mut all =
        json!({"from": OLD, "waves": [{"name": "all", "maxInFlight": 1}], "selector": {"labels": "fleet=one"}});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    rollout_of(&all)
}

/// A hold annotation.
fn hold(uid: &str, name: &str) -> String {
    json!({"rollout": uid, "name": name, "at": "2026-11-18T11:06:40Z"}).to_string()
}

fn database(fleet: &str, annotations: Value) -> Database {
    Database::new(json!({
        "namespace": "n", "name": "b", "uid": "u", "labels": {LABEL: OLD, "fleet": fleet}, "annotations": annotations,
    }))
}

fn planned(rollout: &Rollout, status: &RolloutStatus, database: &Database) -> RolloutPlan {
    let fleet: Vec<FleetObject> = FleetObject::of(&database.value(), rollout).into_iter().collect();
    plan(rollout, status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, NOW)
}

fn lands(database: &Database, one: &ObjectPatch) -> Database {
    database.patched(&one.patch, NOW.wall, true).unwrap_or_else(|| panic!("{} does not land", one.patch))
}

/// Plans and applies object writes until nothing changes. Returns the final status and object.
fn comes_to(rollout: &Rollout, mut status: RolloutStatus, mut database: Database) -> (RolloutStatus, Database) {
    for _ in 0..10 {
        let plan = planned(rollout, &status, &database);
        let writes = plan.writes.iter().filter_map(|write| match write {
            RolloutWrite::Hold(one) | RolloutWrite::Move(one) => Some(one),
            _ => None,
        });
        let next = writes.fold(database.clone(), |database, one| lands(&database, one));
        let is_still = next.value() == database.value() && plan.status == status;
        (status, database) = (plan.status, next);
        if is_still {
            break;
        }
    }
    (status, database)
}

fn note(database: &Database, key: &str) -> Value {
    database.value()["metadata"]["annotations"][key].clone()
}

#[test]
fn next_rollout_takes_over_holds() {
    for (uid, name) in [("rollout-0", "q"), ("rollout-0", "r"), ("rollout-1", "r")] {
        for holds in [true, false] {
            let database = database("one", json!({HELD: hold(uid, name)}));
            let (status, there) =
                comes_to(&rollout(json!({"hold": holds})), RolloutStatus::default(), database.clone());
            assert_eq!(there.label(), Some(NEW), "{uid} {name} {holds}: {:?} {}", status.phase, there.value());
            assert!(!there.is_held(), "{}", there.value());
            // A client restores the object from before the move, except for the label and the rollout annotation.
            let mut again = there.clone();
            again.holds(name);
            let back = rollout(json!({"hold": holds, "direction": "Undo"}));
            let (status, home) = comes_to(&back, status, again);
            assert_eq!((home.label(), home.is_held()), (Some(OLD), false), "{:?} {}", status.phase, home.value());
        }
    }
}

#[test]
fn namesake_hold_is_released() {
    let waits = json!([{"name": "all", "before": "approval"}]);
    for holds in [true, false] {
        let held = database("one", json!({HELD: hold("rollout-0", "r"), WANTED: NEW}));
        let (status, there) =
            comes_to(&rollout(json!({"hold": holds, "waves": waits})), RolloutStatus::default(), held);
        assert_eq!((there.is_held(), there.label()), (holds, Some(OLD)), "{:?}", status.phase);
        let stops = rollout(json!({"hold": holds, "waves": waits, "direction": "Abort"}));
        let (status, there) = comes_to(&stops, status, there);
        assert_eq!((status.phase, there.is_held()), (RolloutPhase::Aborted, false));
        assert_eq!(note(&there, WANTED), json!(NEW), "the requested version is recorded");
    }
}

/// Written by a server without support for holds: the rollout does not undo changes of others.
#[test]
fn undo_releases_moved_objects() {
    let mut database = database("one", json!({HELD: hold("rollout-1", "r")}));
    let status = planned(&rollout(json!({"hold": true})), &RolloutStatus::default(), &database).status;
    assert_eq!(status.in_flight.len(), 1);
    database.labelled(NEW, "kubectl-label", "Update", NOW.wall);
    let (status, there) = comes_to(&rollout(json!({"hold": true, "direction": "Undo"})), status, database);
    assert_eq!((status.phase, there.is_held(), there.label()), (RolloutPhase::Aborted, false, Some(NEW)));
}

#[test]
fn deselected_objects_are_released() {
    for members in
        [json!({"hold": true}), json!({}), json!({"paused": true}), json!({"hold": true, "direction": "Abort"})]
    {
        let rollout = rollout(members.clone());
        let mut status = planned(&rollout, &RolloutStatus::default(), &database("one", json!({}))).status;
        if status.started.is_none() {
            status.started = Some("2026-11-18T11:00:00Z".to_owned());
        }
        let (status, there) = comes_to(&rollout, status, database("two", json!({HELD: hold("rollout-1", "r")})));
        assert_eq!((there.is_held(), there.label()), (false, Some(OLD)), "{members}: {:?}", status.phase);
        assert_eq!(note(&there, HELD), json!("released rollout-1"));
        assert!(FleetObject::of(&there.value(), &rollout).is_none());
        assert!(status.in_flight.is_empty(), "{members}: {:?}", status.in_flight);
    }
}

#[test]
fn paused_rollout_releases_holds() {
    let held = database("one", json!({HELD: hold("rollout-1", "r")}));
    let status = planned(&rollout(json!({"hold": true})), &RolloutStatus::default(), &held).status;
    for (holds, is_held) in [(true, true), (false, false)] {
        let paused = rollout(json!({"hold": holds, "paused": true}));
        let (status, there) = comes_to(&paused, status.clone(), held.clone());
        assert_eq!((status.phase, there.is_held(), there.label()), (RolloutPhase::Paused, is_held, Some(OLD)));
    }
}

#[test]
fn paused_rollout_holds_new_objects() {
    let status = RolloutStatus { started: Some("2026-11-18T11:00:00Z".to_owned()), ..RolloutStatus::default() };
    let paused = rollout(json!({"hold": true, "paused": true}));
    let (status, there) = comes_to(&paused, status, database("one", json!({})));
    assert_eq!((status.phase, there.is_held(), there.label()), (RolloutPhase::Paused, true, Some(OLD)));
}

#[test]
fn other_hold_ends_the_wish() {
    let waits = rollout(json!({"hold": true, "waves": [{"name": "all", "before": "approval"}]}));
    for (text, wanted) in
        [("released rollout-0", Value::Null), ("released rollout-1", json!(NEW)), ("mine", Value::Null)]
    {
        let (_, held) = comes_to(&waits, RolloutStatus::default(), database("one", json!({HELD: text, WANTED: NEW})));
        assert!(held.is_held(), "{text}");
        assert_eq!(note(&held, WANTED), wanted, "{text}");
    }
}

#[test]
fn move_respects_a_new_hold() {
    let rollout = rollout(json!({}));
    let seen = database("one", json!({"a": "b"}));
    let plan = planned(&rollout, &RolloutStatus::default(), &seen);
    let moves: Vec<&ObjectPatch> = plan
        .writes
        .iter()
        .filter_map(|write| match write {
            RolloutWrite::Move(one) => Some(one),
            _ => None,
        })
        .collect();
    let mut meanwhile = seen.clone();
    meanwhile.holds("q");
    assert!(moves[0].patch.is_array() && meanwhile.patched(&moves[0].patch, NOW.wall, true).is_none());
    assert_eq!(lands(&seen, moves[0]).label(), Some(NEW));
}
