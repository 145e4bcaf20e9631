//! An aborted rollout ends, regardless of other clients.

use pointsman_rollout::{Direction, FleetObject, PlanInput, RolloutPhase, RolloutPlan, RolloutStatus, plan};
use serde_json::{Value, json};

use crate::kinds::rollout_of;
use crate::patches::{NOW, database};

fn planned(status: &RolloutStatus, direction: &str, version: &str, consistent: bool) -> RolloutPlan {
    of(status, direction, consistent, &database(json!({"labels": {"example.com/controller-version": version}})))
}

/// A plan for an object that the rollout has moved.
fn marked(status: &RolloutStatus, direction: &str, version: &str) -> RolloutPlan {
    let mark =
        json!({"rollout": "rollout-1", "was": "2.16.0", "to": "2.17.0", "at": "2026-11-18T00:00:00Z"}).to_string();
    let metadata =
        json!({"labels": {"example.com/controller-version": version}, "annotations": {"pointsman.dev/rollout": mark}});
    of(status, direction, true, &database(metadata))
}

fn of(status: &RolloutStatus, direction: &str, consistent: bool, there: &Value) -> RolloutPlan {
    let waves = json!([{"name": "all", "maxInFlight": 1}]);
    let rollout = rollout_of(&json!({"from": "2.16.0", "waves": waves, "direction": direction}));
    let fleet = [FleetObject::of(there, &rollout).unwrap()];
    plan(&rollout, status, &fleet, PlanInput { consistent, ..PlanInput::default() }, NOW)
}

/// Another client moved and reverted the object, and the rollout never wrote it: the abort does not wait.
#[test]
fn abort_waits_only_for_writes() {
    let reserved = planned(&RolloutStatus::default(), "Forward", "2.16.0", true).status;
    assert_eq!(reserved.in_flight.len(), 1);
    let moved_by_others = planned(&reserved, "Abort", "2.17.0", true).status;
    assert_eq!((moved_by_others.phase, moved_by_others.in_flight.len()), (RolloutPhase::Rolling, 1));
    let cached = planned(&moved_by_others, "Abort", "2.16.0", false);
    assert!(cached.wants_list && !cached.status.is_over(), "a cached list may predate the move");
    let listed = planned(&moved_by_others, "Abort", "2.16.0", true);
    assert_eq!((listed.status.phase, listed.status.in_flight.len()), (RolloutPhase::Aborted, 0));
}

/// The same on undo: a reverted object that another client moves again stays there.
#[test]
fn abort_stops_undo() {
    let mut under_way = planned(&RolloutStatus::default(), "Forward", "2.16.0", true).status;
    under_way.direction = Direction::Abort;
    under_way.in_flight[0].back = true;
    let listed = marked(&under_way, "Abort", "2.17.0");
    assert_eq!((listed.status.phase, listed.status.in_flight.len()), (RolloutPhase::Aborted, 0), "{:?}", listed.status);
}
