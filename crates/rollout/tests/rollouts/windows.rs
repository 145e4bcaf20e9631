//! Time windows for moves.

use pointsman_rollout::{FleetObject, LocalTime, PlanInput, RolloutPhase, RolloutPlan, RolloutStatus, plan};
use serde_json::{Value, json};

use crate::kinds::rollout_of;
use crate::patches::{NOW, database};

/// Plans for two databases at noon of a Thursday or, outside the window, of a Friday.
fn planned(status: &RolloutStatus, direction: &str, is_open: bool) -> RolloutPlan {
    let windows = json!([{"days": ["mon-thu"], "from": "09:00", "to": "16:00", "zone": "Asia/Tokyo"}]);
    let waves = json!([{"name": "all", "maxInFlight": 1}]);
    let rollout = rollout_of(&json!({"from": "2.16.0", "waves": waves, "windows": windows, "direction": direction}));
    let fleet = [("b", "u"), ("c", "v")].map(|(name, uid)| {
        let mut database = database(json!({"labels": {"example.com/controller-version": "2.16.0"}}));
        (database["metadata"]["name"], database["metadata"]["uid"]) = (Value::from(name), Value::from(uid));
        FleetObject::of(&database, &rollout).unwrap()
    });
    let there = LocalTime { weekday: if is_open { 3 } else { 4 }, minute: 12 * 60 };
    let facts =
        PlanInput { consistent: true, local: [("Asia/Tokyo".to_owned(), there)].into(), ..PlanInput::default() };
    plan(&rollout, status, &fleet, facts, NOW)
}

#[test]
fn closed_window_blocks_start() {
    let closed = planned(&RolloutStatus::default(), "Forward", false);
    assert_eq!((closed.status.phase, closed.status.in_flight.len()), (RolloutPhase::Waiting, 0));
    assert_eq!(closed.status.message, "all 0/2, waiting for the next window: mon-thu 09:00-16:00 Asia/Tokyo");
    let open = planned(&closed.status, "Forward", true);
    assert_eq!((open.status.phase, open.status.in_flight.len()), (RolloutPhase::Rolling, 1));
}

/// Work that started inside the window continues: a fleet is not left partial overnight.
#[test]
fn closing_window_lets_work_finish() {
    let open = planned(&RolloutStatus::default(), "Forward", true);
    let closed = planned(&open.status, "Forward", false);
    assert_eq!(closed.status.in_flight, open.status.in_flight);
    assert_eq!(closed.status.phase, RolloutPhase::Rolling);
    assert_eq!(closed.writes.len(), 1, "the move that was reserved: {:?}", closed.writes);
}

#[test]
fn undo_ignores_windows() {
    let open = planned(&RolloutStatus::default(), "Forward", true);
    let back = planned(&open.status, "Undo", false);
    assert_eq!(back.status.reason.as_deref(), Some("RolledBack"), "{:?}", back.status);
}
