//! Large fleets: duration of a plan, and number of writes of a rollout.

use std::time::Duration;

use pointsman_rollout::{
    ClockReading, FleetObject, PlanInput, Rollout, RolloutPhase, RolloutPlan, RolloutStatus, RolloutWrite, RunnerCache,
    plan, rfc3339,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::database::Database;
use crate::kinds::rollout_of;
use crate::number;
use crate::patches::NOW;
use crate::world::{CONTROLLER, LABEL, NEW, OLD};

/// Healthy databases at the old version.
fn databases(count: usize) -> Vec<Database> {
    let database = |at: usize| {
        let name = format!("b-{at:05}");
        let mut database = Database::new(json!({"namespace": "n", "name": name, "uid": name, "labels": {LABEL: OLD}}));
        database.looked_at(CONTROLLER, true, NOW.wall - 100);
        database
    };
    (0..count).map(database).collect()
}

fn seen(databases: &[Database], rollout: &Rollout) -> Vec<FleetObject> {
    databases.iter().map(|database| FleetObject::of(&database.value(), rollout).unwrap()).collect()
}

/// A runner that reads its own writes and lists the fleet on request of the plan, as `pointsman rollout run` does.
struct Running {
    rollout: Rollout,
    databases: Vec<Database>,
    fleet: Vec<FleetObject>,
    status: RolloutStatus,
    runner_cache: RunnerCache,
    now: ClockReading,
    consistent: bool,
    /// Object writes, status writes, and lists.
    calls: [usize; 3],
}

impl Running {
    fn plans(&mut self) -> RolloutPlan {
        let runner_cache = std::mem::take(&mut self.runner_cache);
        let facts = PlanInput { consistent: self.consistent, runner_cache, ..PlanInput::default() };
        let plan = plan(&self.rollout, &self.status, &self.fleet, facts, self.now);
        (self.runner_cache, self.consistent) = (plan.runner_cache.clone(), plan.wants_list);
        self.calls[2] += usize::from(plan.wants_list);
        plan
    }

    /// Performs the planned writes. Moved objects are healthy before the next plan.
    fn writes(&mut self, plan: RolloutPlan) {
        for write in plan.writes {
            match write {
                RolloutWrite::Status(status) => {
                    self.status = *status;
                    self.calls[1] += 1;
                }
                RolloutWrite::Move(one) | RolloutWrite::Hold(one) => {
                    let at: usize = one.uid["b-".len()..].parse().unwrap();
                    let mut moved = self.databases[at].patched(&one.patch, self.now.wall, true).unwrap();
                    moved.looked_at(CONTROLLER, true, self.now.wall + 1);
                    self.fleet[at] = FleetObject::of(&moved.value(), &self.rollout).unwrap();
                    self.databases[at] = moved;
                    self.calls[0] += 1;
                }
                RolloutWrite::Try(one) => panic!("{} was refused by nobody", one.title()),
                RolloutWrite::Job(_) | RolloutWrite::Object(_) => panic!("nothing has a workflow here"),
            }
        }
        self.now.wall += 2;
        self.now.steady += Duration::from_secs(2);
    }
}

/// CPU time of this thread, independent of the load of the machine.
fn worked() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// One write per object, one status write per batch and one at the end, and a list at the start and at the end. All
/// other calls are avoided.
#[test]
fn large_fleet_writes_are_batched() {
    let (count, running) = complete(&json!({}));
    assert_eq!(running.calls, [count, count.div_ceil(10) + 1, 2]);
}

/// One more write per object, and a status write per plan that holds objects.
#[test]
fn held_fleet_needs_two_writes() {
    let (count, running) = complete(&json!({"hold": true}));
    assert_eq!(running.calls, [count * 2, count.div_ceil(64) + count.div_ceil(10) + 1, 2]);
    assert!(running.databases.iter().all(|database| !database.is_held()));
}

/// A complete rollout, and its number of objects.
fn complete(members: &Value) -> (usize, Running) {
    let count = usize::try_from(number("POINTSMAN_OBJECTS", 500)).unwrap();
    let mut all = json!({"from": OLD, "waves": [{"name": "all", "maxInFlight": 10}]});
    all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let rollout = rollout_of(&all);
    let databases = databases(count);
    let fleet = seen(&databases, &rollout);
    let (status, runner_cache) = (RolloutStatus::default(), RunnerCache::default());
    let mut running =
        Running { rollout, databases, fleet, status, runner_cache, now: NOW, consistent: true, calls: [0, 0, 1] };
    while !running.status.is_over() {
        let plan = running.plans();
        running.writes(plan);
        assert!(running.calls[1] <= count, "{:?}", running.status);
    }
    assert_eq!(running.status.phase, RolloutPhase::Complete);
    (count, running)
}

/// A GitOps tool that applies a whole fleet reverts all objects at once. The status must fit into etcd, nothing is
/// moved twice, and a resume needs no second confirmation.
#[test]
fn large_undo_prints_few_lines() {
    let most =
        json!({"name": "most", "selector": {"labels": "frozen notin (true)"}, "maxInFlight": 10, "after": "approval"});
    let waves = json!([most, {"name": "rest"}]);
    let rollout = rollout_of(&json!({"from": OLD, "waves": waves}));
    let databases = databases(300);
    let fleet = seen(&databases, &rollout);
    let (status, runner_cache) = (RolloutStatus::default(), RunnerCache::default());
    let mut running =
        Running { rollout, databases, fleet, status, runner_cache, now: NOW, consistent: true, calls: [0, 0, 1] };
    while running.status.counts.updated < 300 {
        let plan = running.plans();
        running.writes(plan);
    }
    let moved = running.calls[0];
    for (database, seen) in running.databases.iter_mut().zip(&mut running.fleet) {
        database.labelled(OLD, "kustomize-controller", "Apply", running.now.wall);
        *seen = FleetObject::of(&database.value(), &running.rollout).unwrap();
    }
    let plan = running.plans();
    running.writes(plan);
    let status = &running.status;
    assert_eq!((status.phase, status.failures.len()), (RolloutPhase::Paused, 50), "{status:?}");
    assert!(status.message.ends_with("after its move to 2.17.0; and 299 more"), "{}", status.message);
    running.status.resume(running.now);
    for _ in 0..5 {
        let plan = running.plans();
        running.writes(plan);
    }
    let status = &running.status;
    assert_eq!((status.halted.is_none(), status.failures.len(), status.counts.held), (true, 50, 300), "{status:?}");
    assert_eq!(running.calls[0], moved);
}

/// Half of the fleet is in flight, so that any linear search per object becomes visible.
#[test]
fn planning_time_is_linear() {
    let took = |count: usize| {
        let rollout = rollout_of(&json!({"from": OLD, "waves": [{"name": "all", "maxInFlight": 10}]}));
        let mut databases = databases(count);
        let under_way = &mut databases[..count / 2];
        under_way.iter_mut().for_each(|database| database.labelled(NEW, "kubectl-label", "Update", NOW.wall));
        let at = rfc3339(NOW.wall);
        let reserved: Vec<_> = under_way.iter().map(Database::uid).collect();
        let reserved = reserved.iter().map(|uid| json!({"object": format!("n/{uid}"), "uid": uid, "since": at}));
        let status = json!({"phase": "Rolling", "started": at, "inFlight": reserved.collect::<Vec<_>>()});
        let status = RolloutStatus::of(&json!({"status": status}));
        let fleet = seen(&databases, &rollout);
        let planned = |_| {
            let began = worked();
            let plan = plan(&rollout, &status, &fleet, PlanInput::default(), NOW);
            assert_eq!((plan.status.counts.in_flight, plan.status.counts.pending), (count / 2, count / 2));
            worked() - began
        };
        (0..7).map(planned).min().unwrap()
    };
    let (few, many) = (took(1_000), took(10_000));
    println!("a plan: 1,000 objects {few:?}, 10,000 objects {many:?}");
    assert!(many < few * 50, "1,000 objects {few:?}, 10,000 objects {many:?}");
}
