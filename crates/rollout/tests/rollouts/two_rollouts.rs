//! Two rollouts that both select one object, because its labels changed after both started, or by its creation. Neither
//! rollout undoes the other's move or removes the other's hold.

use std::time::Duration;

use pointsman_rollout::{
    ClockReading, FleetObject, PlanInput, Rollout, RolloutPlan, RolloutStatus, RolloutWrite, RunnerCache, plan,
};
use serde_json::{Value, json};

use crate::database::Database;
use crate::kinds::rollout_called;
use crate::patches::NOW;
use crate::world::{CONTROLLER, LABEL, NEW, OLD};

/// The target version of the other rollout.
const NEXT: &str = "2.18.0";
const HELD: &str = "pointsman.dev/hold";

/// A runner of one of the rollouts.
struct Running {
    rollout: Rollout,
    status: RolloutStatus,
    runner_cache: RunnerCache,
}

impl Running {
    fn new(name: &str, uid: &str, members: Value) -> Self {
        let mut all =
            json!({"waves": [{"name": "all", "maxInFlight": 1}], "selector": {"labels": format!("{name}=yes")}});
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let (status, runner_cache) = (RolloutStatus::default(), RunnerCache::default());
        Self { rollout: rollout_called((name, uid), &all), status, runner_cache }
    }

    /// Reads the object, plans, and performs the planned writes. Returns the number of label writes.
    fn goes_on(&mut self, database: &mut Database, now: ClockReading) -> usize {
        let fleet: Vec<FleetObject> = FleetObject::of(&database.value(), &self.rollout).into_iter().collect();
        let runner_cache = std::mem::take(&mut self.runner_cache);
        let facts = PlanInput { consistent: true, runner_cache, ..PlanInput::default() };
        let RolloutPlan { writes, runner_cache, .. } = plan(&self.rollout, &self.status, &fleet, facts, now);
        self.runner_cache = runner_cache;
        let mut moved = 0;
        for write in writes {
            match write {
                RolloutWrite::Status(status) => self.status = *status,
                RolloutWrite::Move(one) | RolloutWrite::Hold(one) => {
                    let Some(next) = database.patched(&one.patch, now.wall, true) else { return moved };
                    moved += usize::from(next.label() != database.label());
                    *database = next;
                    database.looked_at(CONTROLLER, true, now.wall + 1);
                }
                other => panic!("{other:?}"),
            }
        }
        moved
    }
}

fn database(labels: Value) -> Database {
    let mut all = json!({LABEL: OLD});
    all.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
    let mut database = Database::new(json!({"namespace": "n", "name": "b", "uid": "u", "labels": all}));
    database.looked_at(CONTROLLER, true, NOW.wall - 100);
    database
}

fn at(seconds: u64) -> ClockReading {
    ClockReading { wall: NOW.wall + seconds, steady: Duration::from_secs(seconds) }
}

#[test]
fn two_rollouts_never_alternate() {
    for from in [Value::Null, json!(OLD)] {
        let members = |to: &str| if from.is_null() { json!({"to": to}) } else { json!({"to": to, "from": from}) };
        let mut both = [Running::new("r", "rollout-1", members(NEW)), Running::new("s", "rollout-2", members(NEXT))];
        // Each rollout has started with its objects and waits for more.
        let mut others = [database(json!({"r": "yes"})), database(json!({"s": "yes"}))];
        for (one, other) in both.iter_mut().zip(&mut others) {
            other.lets_go();
            one.goes_on(other, NOW);
            assert!(one.status.started.is_some(), "{:?}", one.status);
        }
        let mut shared = database(json!({"r": "yes", "s": "yes"}));
        let mut moved = 0;
        for second in 1..120 {
            for one in &mut both {
                // Neither rollout ends meanwhile: the end of the first objects is not under test.
                one.status.in_flight.retain(|reserved| reserved.uid == "u");
                moved += one.goes_on(&mut shared, at(second * 3));
            }
        }
        assert_eq!((moved, shared.label()), (1, Some(NEW)), "{from}: {}", shared.value());
    }
}

#[test]
fn foreign_hold_blocks_move() {
    let waits = json!([{"name": "all", "before": "approval"}]);
    let mut first = Running::new("r", "rollout-1", json!({"hold": true, "waves": waits}));
    let mut second = Running::new("s", "rollout-2", json!({"to": NEXT, "waves": waits}));
    let mut other = database(json!({"s": "yes"}));
    second.goes_on(&mut other, NOW);
    let mut shared = database(json!({"r": "yes", "s": "yes"}));
    first.goes_on(&mut shared, at(3));
    first.goes_on(&mut shared, at(6));
    assert!(shared.is_held_by_it(), "{}", shared.value());
    second.status.approve(&second.rollout, "all", None).unwrap();
    for second_later in 3..20 {
        assert_eq!(second.goes_on(&mut shared, at(second_later * 3)), 0, "{}", shared.value());
    }
    assert!(shared.is_held_by_it() && shared.label() == Some(OLD), "{}", shared.value());
    assert_eq!(second.status.counts.held, 1, "{:?}", second.status);
    // The object moves with the rollout that holds it.
    first.status.approve(&first.rollout, "all", None).unwrap();
    let moved: usize = (20..30).map(|later| first.goes_on(&mut shared, at(later * 3))).sum();
    assert_eq!((moved, shared.label()), (1, Some(NEW)), "{:?}", first.status);
    assert_eq!(shared.value()["metadata"]["annotations"].get(HELD), None);
}
