//! When it takes a list of the whole fleet to go on.

use pointsman_core::roll::{FleetObject, FleetRoll, Moment, RollFacts, RollPhase, RollPlan, RollStatus, plan};
use serde_json::json;

use crate::kinds::roll_of;
use crate::patches::{NOW, boat};

fn planned(roll: &FleetRoll, status: &RollStatus, consistent: bool, seconds: u64) -> RollPlan {
    let there = boat(json!({"labels": {"example.com/controller-version": "2.17.0", "roll": "canary"}}));
    let fleet = [FleetObject::of(&there, roll).unwrap()];
    let now = Moment { wall: NOW.wall + seconds, ..NOW };
    plan(roll, status, &fleet, RollFacts { consistent, ..RollFacts::default() }, now)
}

/// A cache may not know yet of an object that is to be moved.
#[test]
fn a_roll_is_complete_by_a_consistent_list_alone() {
    let roll = roll_of(&json!({"waves": [{"name": "all"}]}));
    let decided = |consistent| {
        let plan = planned(&roll, &RollStatus::default(), consistent, 0);
        (plan.status.is_over(), plan.wants_list)
    };
    assert_eq!(decided(false), (false, true));
    assert_eq!(decided(true), (true, false));
}

/// A list is wanted where a wave may be through, and where its wait is over, and not in between.
#[test]
fn a_wave_that_waits_wants_no_list() {
    for wait in [json!({"then": "approval"}), json!({"soak": "30s"})] {
        let mut canary = json!({"name": "canary", "select": {"labels": "roll=canary"}});
        canary.as_object_mut().unwrap().extend(wait.as_object().unwrap().clone());
        let roll = roll_of(&json!({"waves": [canary, {"name": "rest"}]}));
        let through = planned(&roll, &RollStatus::default(), false, 0);
        assert!(through.wants_list, "{wait}");
        let mut status = planned(&roll, &through.status, true, 0).status;
        assert_eq!(status.phase, RollPhase::Waiting, "{wait}");
        for seconds in [1, 29] {
            let waits = planned(&roll, &status, false, seconds);
            assert_eq!((waits.wants_list, waits.writes.as_slice()), (false, [].as_slice()), "{wait}");
        }
        let _ = status.approve(&roll, "canary");
        let over = planned(&roll, &status, false, 31);
        assert!(over.wants_list && !over.status.is_over(), "{wait}");
        assert_eq!(planned(&roll, &over.status, true, 31).status.phase, RollPhase::Complete, "{wait}");
    }
}
