//! A runner of a hand-over, pass by pass, which a test may kill after any call.

use std::time::Duration;

use pointsman_rollout::{ClockReading, PlanInput, RolloutPlan, RolloutWrite, RunnerCache, plan};

use super::garden::Garden;

/// A process that runs the rollout.
#[derive(Default)]
pub(super) struct FakeRunner {
    runner_cache: RunnerCache,
    steady: u64,
    /// A readable log of its writes.
    pub(super) log: Vec<String>,
    /// Number of calls made.
    pub(super) calls: usize,
}

impl FakeRunner {
    /// Runs until no work is left, or for at most `passes` passes of five seconds. After call `killed_after` the
    /// process is killed and restarted.
    pub(super) fn run(&mut self, garden: &mut Garden, passes: usize, killed_after: Option<usize>) -> RolloutPlan {
        let mut last = None;
        for _ in 0..passes {
            let planned = self.pass(garden, killed_after);
            let is_over = planned.status.is_over();
            last = Some(planned);
            if is_over {
                break;
            }
        }
        last.unwrap()
    }

    fn pass(&mut self, garden: &mut Garden, killed_after: Option<usize>) -> RolloutPlan {
        (garden.now, self.steady) = (garden.now + 5, self.steady + 5);
        let now = ClockReading { wall: garden.now, steady: Duration::from_secs(self.steady) };
        let rollout = garden.compiled();
        let fleet = garden.fleet(&rollout);
        let facts = PlanInput {
            runner_cache: self.runner_cache.clone(),
            consistent: true,
            answers: garden.answers(&rollout, &fleet),
            ..PlanInput::default()
        };
        let planned = plan(&rollout, &garden.status(), &fleet, facts, now);
        self.runner_cache = planned.runner_cache.clone();
        for write in &planned.writes {
            if !self.write(garden, write, now) {
                break;
            }
            self.calls += 1;
            if Some(self.calls) == killed_after {
                (self.runner_cache, self.steady) = (RunnerCache::default(), 0);
                break;
            }
        }
        planned
    }

    /// Makes one call. Returns whether the rest of the plan is still valid.
    fn write(&mut self, garden: &mut Garden, write: &RolloutWrite, now: ClockReading) -> bool {
        match write {
            RolloutWrite::Status(status) => garden.rollout["status"] = status.to_json(),
            RolloutWrite::Move(one) => {
                self.log.push(format!("marks {}", one.name));
                return garden.patch(&one.name, &one.patch);
            }
            RolloutWrite::Object(one) => {
                self.log.push(one.message());
                match garden.write(one) {
                    Ok(()) => self.runner_cache.allowed(&one.uid),
                    Err(why) => self.runner_cache.not_yet(&one.uid, &format!("{}: {why}", one.title()), now),
                }
            }
            RolloutWrite::Try(_) => {}
            other => panic!("no step asks for that: {other:?}"),
        }
        true
    }
}
