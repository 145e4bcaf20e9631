//! When objects may be moved.

use pointsman_core::roll::{FleetObject, LocalTime, RollFacts, RollPhase, RollPlan, RollStatus, plan};
use serde_json::{Value, json};

use crate::kinds::roll_of;
use crate::patches::{NOW, boat};

/// Plans for two boats at noon of a Thursday or, outside the window, of a Friday.
fn planned(status: &RollStatus, direction: &str, is_open: bool) -> RollPlan {
    let windows = json!([{"days": ["mon-thu"], "from": "09:00", "to": "16:00", "zone": "Asia/Tokyo"}]);
    let waves = json!([{"name": "all", "atOnce": 1}]);
    let roll = roll_of(&json!({"from": "2.16.0", "waves": waves, "windows": windows, "direction": direction}));
    let fleet = [("b", "u"), ("c", "v")].map(|(name, uid)| {
        let mut boat = boat(json!({"labels": {"example.com/controller-version": "2.16.0"}}));
        (boat["metadata"]["name"], boat["metadata"]["uid"]) = (Value::from(name), Value::from(uid));
        FleetObject::of(&boat, &roll).unwrap()
    });
    let there = LocalTime { weekday: if is_open { 3 } else { 4 }, minute: 12 * 60 };
    let facts =
        RollFacts { consistent: true, local: [("Asia/Tokyo".to_owned(), there)].into(), ..RollFacts::default() };
    plan(&roll, status, &fleet, facts, NOW)
}

#[test]
fn nothing_is_begun_outside_the_windows() {
    let closed = planned(&RollStatus::default(), "Forward", false);
    assert_eq!((closed.status.phase, closed.status.reserved.len()), (RollPhase::Waiting, 0));
    assert_eq!(closed.status.message, "all 0/2, outside its windows: mon-thu 09:00-16:00 Asia/Tokyo");
    let open = planned(&closed.status, "Forward", true);
    assert_eq!((open.status.phase, open.status.reserved.len()), (RollPhase::Rolling, 1));
}

/// It was begun in time: a fleet is not left half way for a night.
#[test]
fn what_is_under_way_ends_also_when_its_window_does() {
    let open = planned(&RollStatus::default(), "Forward", true);
    let closed = planned(&open.status, "Forward", false);
    assert_eq!(closed.status.reserved, open.status.reserved);
    assert_eq!(closed.status.phase, RollPhase::Rolling);
    assert_eq!(closed.writes.len(), 1, "the move that was reserved: {:?}", closed.writes);
}

#[test]
fn whoever_goes_back_waits_for_no_window() {
    let open = planned(&RollStatus::default(), "Forward", true);
    let back = planned(&open.status, "Back", false);
    assert_eq!(back.status.reason.as_deref(), Some("TakenBack"), "{:?}", back.status);
}
