//! Controllers that answer a move exactly once, after a fixed delay in milliseconds.

use std::collections::BTreeMap;

use pointsman_rollout::{Direction, RolloutPhase};
use serde_json::json;

use crate::kind;
use crate::runner::{Done, Runner};
use crate::script::Setup;
use crate::world::{NEW, OLD, World};

/// Milliseconds between a move and the controller's answer.
const DELAYS: [u64; 4] = [0, 20, 200, 1_100];

/// Duration of one runner call, in milliseconds.
const CALL: u64 = 7;

/// A fleet with simulated controllers and a millisecond clock.
struct Fleet {
    setup: Setup,
    world: World,
    runner: Runner,
    /// In milliseconds.
    now: u64,
    delay: u64,
    /// Time of the controller's answer, by object name.
    answers: BTreeMap<String, u64>,
}

impl Fleet {
    fn new(delay: u64, one_manager: bool) -> Self {
        let setup = Setup { objects: 20, max_in_flight: "3".to_owned(), one_manager, ..Setup::plain() };
        let world = World::new(&setup);
        let (now, runner) = (world.now * 1_000 + 300, Runner::started(world.now, 0));
        Self { setup, world, runner, now, delay, answers: BTreeMap::new() }
    }

    /// Runs until the rollout is over, or for one hour.
    fn runs(&mut self) -> RolloutPhase {
        let ends = self.now + 3_600_000;
        while self.now < ends {
            self.world.now = self.now / 1_000;
            let due: Vec<String> =
                self.answers.iter().filter(|(_, at)| **at <= self.now).map(|(name, _)| name.clone()).collect();
            for name in due {
                self.answers.remove(&name);
                self.world.look(&name, true);
            }
            self.world.sync();
            let done = self.runner.step(kind(&self.setup), &mut self.world);
            if let Done::Moved(write, _) = done {
                self.answers.insert(write.name.clone(), self.now + self.delay);
            }
            let status = &self.world.status;
            if (status.is_over() || status.phase == RolloutPhase::Paused) && !status.turns_after_end(self.direction()) {
                return status.phase;
            }
            self.now += CALL;
        }
        self.world.status.phase
    }

    fn direction(&self) -> Direction {
        if self.world.spec["direction"] == "Undo" { Direction::Undo } else { Direction::Forward }
    }

    fn at(&self, version: &str) -> usize {
        self.world.objects.values().filter(|object| object.label() == Some(version)).count()
    }
}

#[test]
fn controller_that_answers_once_is_seen() {
    for (delay, one_manager) in DELAYS.into_iter().flat_map(|delay| [(delay, false), (delay, true)]) {
        let mut fleet = Fleet::new(delay, one_manager);
        let told = |fleet: &Fleet| format!("{delay} ms, one manager: {one_manager}: {}", fleet.world.status.message);
        assert_eq!(fleet.runs(), RolloutPhase::Complete, "{}", told(&fleet));
        assert_eq!(fleet.at(NEW), 20);
        fleet.world.set("direction", json!("Undo"));
        assert_eq!(fleet.runs(), RolloutPhase::Aborted, "{}", told(&fleet));
        assert_eq!((fleet.at(OLD), fleet.world.status.reason.as_deref()), (20, Some("RolledBack")), "{}", told(&fleet));
    }
}

/// A controller that never answers is not mistaken for a controller that answered.
#[test]
fn controller_that_never_answers_times_out() {
    for one_manager in [false, true] {
        let mut fleet = Fleet::new(u64::MAX / 2, one_manager);
        assert_eq!(fleet.runs(), RolloutPhase::Paused);
        assert_eq!((fleet.at(NEW), fleet.world.status.reason.as_deref()), (3, Some("TimedOut")));
    }
}
