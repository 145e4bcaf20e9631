//! A roll that is to stop ends, whatever others do meanwhile.

use pointsman_core::roll::{Direction, FleetObject, RollFacts, RollPhase, RollPlan, RollStatus, plan};
use serde_json::{Value, json};

use crate::kinds::roll_of;
use crate::patches::{NOW, boat};

fn planned(status: &RollStatus, direction: &str, version: &str, consistent: bool) -> RollPlan {
    of(status, direction, consistent, &boat(json!({"labels": {"example.com/controller-version": version}})))
}

/// Of an object that the roll itself has moved.
fn marked(status: &RollStatus, direction: &str, version: &str) -> RollPlan {
    let mark = json!({"roll": "roll-1", "was": "2.16.0", "to": "2.17.0", "at": "2026-11-18T00:00:00Z"}).to_string();
    let metadata =
        json!({"labels": {"example.com/controller-version": version}, "annotations": {"pointsman.dev/roll": mark}});
    of(status, direction, true, &boat(metadata))
}

fn of(status: &RollStatus, direction: &str, consistent: bool, there: &Value) -> RollPlan {
    let waves = json!([{"name": "all", "atOnce": 1}]);
    let roll = roll_of(&json!({"from": "2.16.0", "waves": waves, "direction": direction}));
    let fleet = [FleetObject::of(there, &roll).unwrap()];
    plan(&roll, status, &fleet, RollFacts { consistent, ..RollFacts::default() }, NOW)
}

/// What somebody else has moved, and takes back, was never written by the roll: nothing of it is waited for.
#[test]
fn a_roll_that_stops_waits_for_nothing_that_it_will_not_write() {
    let reserved = planned(&RollStatus::default(), "Forward", "2.16.0", true).status;
    assert_eq!(reserved.reserved.len(), 1);
    let moved_by_others = planned(&reserved, "Stop", "2.17.0", true).status;
    assert_eq!((moved_by_others.phase, moved_by_others.reserved.len()), (RollPhase::Rolling, 1));
    let cached = planned(&moved_by_others, "Stop", "2.16.0", false);
    assert!(cached.wants_list && !cached.status.is_over(), "a cache may be older than what was moved");
    let listed = planned(&moved_by_others, "Stop", "2.16.0", true);
    assert_eq!((listed.status.phase, listed.status.reserved.len()), (RollPhase::Aborted, 0));
}

/// The same on the way back: what was taken back already, and is moved again by somebody else, stays there.
#[test]
fn a_roll_that_stops_on_its_way_back_takes_nothing_more_back() {
    let mut under_way = planned(&RollStatus::default(), "Forward", "2.16.0", true).status;
    under_way.direction = Direction::Stop;
    under_way.reserved[0].back = true;
    let listed = marked(&under_way, "Stop", "2.17.0");
    assert_eq!((listed.status.phase, listed.status.reserved.len()), (RollPhase::Aborted, 0), "{:?}", listed.status);
}
