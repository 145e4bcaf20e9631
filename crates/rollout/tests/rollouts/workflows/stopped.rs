//! The state in which an aborted rollout leaves its objects, and the time of its end.

use std::collections::BTreeMap;
use std::time::Duration;

use pointsman_rollout::{
    ClockReading, FleetObject, LookupResults, LookupTarget, PlanInput, Rollout, RolloutPhase, RolloutStatus,
    RolloutWrite, RunnerCache, plan, step_lookups,
};
use serde_json::{Value, json};

use super::refused::rolled;
use crate::database::apply;
use crate::patches::NOW;

/// An object that is locked, and for which a Job runs.
struct Pier {
    direction: &'static str,
    /// The step is irreversible.
    is_for_good: bool,
    /// Another wave precedes the wave of the Job.
    is_second: bool,
    /// The undo of the Job is complete if the object has a certain state.
    says_undone: bool,
    /// Another Job runs before this one.
    is_towed: bool,
    /// A lock step runs before the Job.
    has_lock: bool,
    ship: Option<Value>,
    /// Jobs by name, in the order of their creation.
    jobs: Vec<(String, Value)>,
    status: RolloutStatus,
    runner_cache: RunnerCache,
    /// Reading Jobs is forbidden.
    shut: bool,
    /// A webhook rejects every write of the object.
    denied: bool,
    /// Creating Jobs fails.
    jobless: bool,
    /// The last rejected Job.
    late: Option<(String, Value)>,
}

impl Pier {
    fn new() -> Self {
        let metadata = json!({"namespace": "n", "name": "a", "uid": "u-a"});
        let healthy = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        let ship = Some(json!({"metadata": metadata, "spec": {}, "status": healthy}));
        let (status, runner_cache) = (RolloutStatus::default(), RunnerCache::default());
        Self {
            direction: "Forward",
            is_for_good: false,
            is_second: false,
            says_undone: false,
            is_towed: false,
            has_lock: true,
            ship,
            jobs: Vec::new(),
            status,
            runner_cache,
            shut: false,
            denied: false,
            jobless: false,
            late: None,
        }
    }

    fn compiled(&self) -> Rollout {
        let template = json!({"spec": {"containers": [{"name": "lift", "image": "crane"}]}});
        let manifest = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "yard"}, "spec": {"template": template},
        });
        let undo = match self.says_undone {
            true => json!({"manifest": manifest, "until": {"field": "status.level", "is": "low"}}),
            false => json!({"manifest": manifest}),
        };
        let lift = match self.is_for_good {
            false => json!({"name": "lift", "job": {"manifest": manifest, "undo": undo}}),
            true => json!({"name": "lift", "job": {"manifest": manifest}, "irreversible": "it is for good"}),
        };
        let wait = json!({"name": "wait", "wait": {"until": {"field": "status.level", "is": "{to}"}}});
        let accept = if self.is_for_good { json!(["lift"]) } else { json!([]) };
        // Objects that are left and reported do not block a fleet.
        let mut spec =
            json!({"timeout": "10m", "direction": self.direction, "acceptedRisks": accept, "maxUnhealthy": 0});
        if self.is_second {
            spec["waves"] = json!([{"name": "first", "workflow": "k"}, {"name": "rest"}]);
        }
        let flag = json!({"name": "flag", "set": {"fields": {"spec.flag": true}}});
        let tow = json!({"name": "tow", "job": {"manifest": manifest, "undo": {"manifest": manifest}}});
        let lock = json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}});
        let before = self.is_towed.then_some(tow).into_iter().chain(self.has_lock.then_some(lock));
        let steps: Vec<Value> = before.chain([lift, wait]).collect();
        rolled(&json!({"j": steps, "k": [flag]}), &spec).unwrap()
    }

    fn answers(&self, rollout: &Rollout, fleet: &[FleetObject]) -> LookupResults {
        let jobs: BTreeMap<&str, &Value> = self.jobs.iter().map(|(name, job)| (name.as_str(), job)).collect();
        let mut answers = LookupResults::default();
        for lookup in step_lookups(rollout, &self.status, fleet) {
            let LookupTarget::Named(name) = &lookup.wanted else { panic!("{lookup:?}") };
            match self.shut {
                true => answers.cannot_read(&lookup, "nobody may".to_owned()),
                false => answers.saw(&lookup, jobs.get(name.as_str()).copied().map_or(&[], std::slice::from_ref)),
            }
        }
        answers
    }

    /// Runs until no writes are planned, at this many seconds after the start. Returns the planned status.
    fn settles(&mut self, after: u64) -> RolloutStatus {
        for _ in 0..20 {
            if let Some(status) = self.plans_once(after) {
                return status;
            }
        }
        panic!("it goes on for ever: {:?}", self.status);
    }

    /// Runs until this many Jobs were created.
    fn runs_job(&mut self, after: u64, jobs: usize) {
        while self.jobs.len() < jobs {
            assert!(self.plans_once(after).is_none(), "{:?}", self.status);
        }
    }

    /// Plans, and performs the writes. Returns the planned status if there are none.
    fn plans_once(&mut self, after: u64) -> Option<RolloutStatus> {
        let rollout = self.compiled();
        let fleet: Vec<FleetObject> = self.ship.iter().map(|ship| FleetObject::of(ship, &rollout).unwrap()).collect();
        let answers = self.answers(&rollout, &fleet);
        let runner_cache = self.runner_cache.clone();
        let facts = PlanInput { consistent: true, answers, runner_cache, ..PlanInput::default() };
        let now = ClockReading { wall: NOW.wall + after, steady: Duration::from_secs(after) };
        let planned = plan(&rollout, &self.status, &fleet, facts, now);
        self.runner_cache = planned.runner_cache;
        if planned.writes.is_empty() {
            return Some(planned.status);
        }
        for write in planned.writes {
            match write {
                RolloutWrite::Status(status) => self.status = *status,
                RolloutWrite::Job(write) if self.jobless => {
                    self.runner_cache.refused(&write.uid, "no", now);
                    self.late = Some((write.name, write.body));
                }
                RolloutWrite::Job(write) => self.jobs.push((write.name, write.body)),
                RolloutWrite::Move(write) if self.denied => self.runner_cache.refused(&write.uid, "no", now),
                RolloutWrite::Move(write) => {
                    let operations = write.patch.as_array().unwrap();
                    let ship = self.ship.as_mut().unwrap();
                    operations.iter().for_each(|operation| apply(ship, operation).unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
        None
    }

    /// The Job hangs, an operator aborts the rollout, and the rollout waits for the Job twice.
    fn hangs(is_for_good: bool) -> Self {
        let mut pier = Self { is_for_good, ..Self::new() };
        pier.settles(0);
        assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
        pier.direction = "Abort";
        for after in [10, 700, 1_400] {
            pier.settles(after);
        }
        pier
    }

    /// The Job has failed, an operator changes the direction, and the Job that reverts the step runs.
    fn failed(direction: &'static str) -> Self {
        let mut pier = Self::new();
        pier.settles(0);
        pier.ends(0, "Failed");
        pier.settles(5);
        pier.direction = direction;
        pier.settles(10);
        assert_eq!(pier.jobs.len(), 2, "{:?}", pier.status);
        pier
    }

    /// A client removes the annotation during the Job, `after` seconds from the start, and the rollout is undone: the
    /// rollout ends and reports the object. Returns the object before the rollout as well.
    fn loses_its_mark(mut self, after: u64) -> (Self, Value) {
        self.settles(0);
        self.settles(after);
        assert_eq!(self.jobs.len(), 1, "{:?}", self.status);
        let marked = self.ship.clone().unwrap();
        self.unmark();
        self.direction = "Undo";
        self.settles(after + 10);
        self.ends(0, "Complete");
        self.settles(after + 20);
        self.settles(after + 90);
        names_job(&self, 0);
        (self, marked)
    }

    fn unmark(&mut self) {
        self.ship.as_mut().unwrap()["metadata"].as_object_mut().unwrap().remove("annotations");
    }

    fn ends(&mut self, job: usize, how: &str) {
        self.jobs[job].1["status"] = json!({"conditions": [{"type": how, "status": "True"}]});
    }
}

/// Checks that the rollout waits for the Job.
#[track_caller]
fn waits(status: &RolloutStatus, why: &str) {
    assert_eq!((status.phase, status.reason.as_deref()), (RolloutPhase::Waiting, Some("Job")), "{status:?}");
    assert!(status.message.contains(why), "{}", status.message);
}

/// Checks that the rollout has ended, and its message.
#[track_caller]
fn stopped(status: &RolloutStatus, told: &str) {
    assert_eq!((status.phase, status.reason.as_deref()), (RolloutPhase::Aborted, Some("Stopped")), "{status:?}");
    assert_eq!(status.message, format!("stopped: 0 objects at v2, {told}"));
}

/// The Job hangs, forward and on undo: a rollout does not end while its Job has effects.
#[test]
fn abort_waits_for_running_job() {
    let before = Pier::new().ship.unwrap();
    let mut pier = Pier::hangs(false);
    assert!(pier.status.in_flight[0].back, "{:?}", pier.status);
    waits(&pier.settles(1_400), &format!("job yard/{} still runs", pier.jobs[0].0));
    pier.shut = true;
    waits(&pier.settles(1_400), &format!("job yard/{} cannot be read: nobody may", pier.jobs[0].0));
    pier.shut = false;
    pier.ends(0, "Failed");
    pier.settles(1_410);
    assert_eq!(pier.jobs.len(), 2, "{:?}", pier.status);
    pier.ends(1, "Complete");
    pier.settles(1_420);
    stopped(&pier.settles(1_500), "and 1 at their earlier version");
    let ship = pier.ship.unwrap();
    assert_eq!(ship["spec"], before["spec"]);
    assert_eq!(ship["metadata"]["annotations"].as_object().map_or(0, serde_json::Map::len), 0, "{ship}");
}

/// The Job that reverts the step hangs: the rollout waits for this Job as well.
#[test]
fn abort_waits_for_reverting_job() {
    let mut pier = Pier::failed("Abort");
    [20, 700].iter().for_each(|after| assert!(!pier.settles(*after).is_over()));
    for after in [1_400, 2_100] {
        waits(&pier.settles(after), &format!("job yard/{} still runs", pier.jobs[1].0));
    }
    pier.ends(1, "Complete");
    pier.settles(2_110);
    stopped(&pier.settles(2_200), "and 1 at their earlier version");
}

/// The runner was killed before recording a created Job, and a client has removed the annotation: the rollout waits for
/// the Job and reports the object.
#[test]
fn unrecorded_job_is_waited_for() {
    for direction in ["Abort", "Undo"] {
        let mut pier = Pier::new();
        pier.settles(0);
        pier.status.in_flight[0].job = None;
        pier.unmark();
        pier.direction = direction;
        assert!(!pier.settles(10).is_over(), "{direction}");
        pier.ends(0, "Complete");
        pier.settles(20);
        let after = pier.settles(90);
        assert!(after.is_over() && after.message.contains("n/a"), "{direction}: {after:?}");
        let named: Vec<&str> = after.failures.iter().map(|one| one.message.as_str()).collect();
        assert!(named.iter().any(|message| message.contains(&pier.jobs[0].0)), "{direction}: {named:?}");
    }
}

/// The runner was killed before recording a created Job, another client has removed the annotation, and a webhook
/// rejects the first step: the object stays in flight while its Job runs or cannot be read, and no step is written.
#[test]
fn unrecorded_job_keeps_object_in_flight() {
    for how in ["Complete", "Failed"] {
        let mut pier = Pier::new();
        pier.settles(0);
        pier.status.in_flight[0].job = None;
        pier.unmark();
        pier.denied = true;
        pier.runner_cache.refused("u-a", "no", ClockReading { wall: NOW.wall + 1, steady: Duration::from_secs(1) });
        for (after, is_shut) in [(5, true), (10, false), (70, false), (140, false)] {
            pier.shut = is_shut;
            let told = pier.settles(after);
            assert!(!told.is_over() && told.in_flight.len() == 1, "{how}: {told:?}");
            pier.denied = after < 70;
        }
        assert!(pier.ship.as_ref().unwrap()["metadata"].get("annotations").is_none(), "{how}: {:?}", pier.ship);
        pier.ends(0, how);
        let told = pier.settles(210);
        let is_locked = pier.ship.as_ref().unwrap()["spec"].get("lock").is_some();
        assert!(is_locked && told.in_flight.len() == 1 && pier.jobs.len() == 1, "{how}: {told:?}");
    }
}

/// The Job is irreversible: the object stays once the Job has ended, and the last message names the object.
#[test]
fn irreversible_job_ends_before_abort() {
    let left = "and 0 at their earlier version; changed in part and not undone: n/a";
    let mut pier = Pier::hangs(false);
    pier.ends(0, "Failed");
    pier.settles(1_410);
    pier.ends(1, "Failed");
    stopped(&pier.settles(1_420), left);
    for how in ["Complete", "Failed"] {
        let mut pier = Pier::hangs(true);
        waits(&pier.status, "still runs");
        pier.ends(0, how);
        pier.settles(1_410);
        stopped(&pier.settles(1_500), left);
    }
}

/// A Job fails and is reverted during an abort: the object equals its initial state.
#[test]
fn reverted_failure_is_pending_again() {
    let mut pier = Pier::failed("Abort");
    pier.ends(1, "Complete");
    pier.settles(20);
    stopped(&pier.settles(90), "and 1 at their earlier version");
}

/// While the Job runs, a client deletes the object, or removes or overwrites the annotation. The rollout waits for the
/// Job in every direction, and no other object takes the slot.
#[test]
fn job_without_mark_is_waited_for() {
    for (direction, mark) in
        ["Abort", "Undo"].iter().flat_map(|way| [(way, None), (way, Some("")), (way, Some("mine"))])
    {
        let mut pier = Pier::new();
        pier.settles(0);
        let ship = pier.ship.as_mut().unwrap();
        match mark {
            None => drop(ship["metadata"].as_object_mut().unwrap().remove("annotations")),
            Some(text) => ship["metadata"]["annotations"] = json!({"pointsman.dev/rollout": text}),
        }
        pier.direction = direction;
        let told = pier.settles(10);
        assert!(!told.is_over() && told.in_flight.len() == 1, "{direction} {mark:?}: {told:?}");
        if *direction == "Abort" {
            waits(&told, "still runs");
        }
        pier.ends(0, "Complete");
        pier.settles(20);
        let after = pier.settles(90);
        assert!(after.is_over() && pier.jobs.len() == 1, "{direction} {mark:?}: {after:?}");
        // The steps to revert are unknown: the object is reported.
        assert!(after.message.contains("n/a"), "{}", after.message);
        assert!(!after.message.contains("1 at their earlier version"), "{}", after.message);
    }
    // At the first step the object has no annotation yet, and the Job is known.
    let mut pier = Pier { has_lock: false, ..Pier::new() };
    pier.settles(0);
    pier.ship.as_mut().unwrap()["metadata"]["annotations"] = json!({"pointsman.dev/rollout": "mine"});
    pier.direction = "Undo";
    let held = pier.settles(10);
    assert_eq!((held.phase, held.in_flight.len()), (RolloutPhase::Rolling, 1), "{held:?}");
    pier.ends(0, "Complete");
    assert!(pier.settles(20).is_over());
    let mut pier = Pier::hangs(false);
    pier.ship = None;
    waits(&pier.settles(1_410), "still runs");
    pier.ends(0, "Complete");
    stopped(&pier.settles(1_420), "and 0 at their earlier version");
}

/// The Job is deleted or failed, and an operator resumes the rollout and then turns it. The Job's effects are reverted
/// or completed, although no other Job was created since.
#[test]
fn earlier_attempt_is_reverted() {
    for (direction, is_gone) in [("Undo", true), ("Undo", false), ("Abort", true)] {
        let mut pier = Pier::new();
        pier.settles(0);
        match is_gone {
            true => pier.jobs.clear(),
            false => pier.ends(0, "Failed"),
        }
        let paused = pier.settles(5);
        assert_eq!(paused.reason.as_deref(), Some("JobFailed"), "{paused:?}");
        let made = pier.jobs.len();
        pier.status.resume(ClockReading { wall: NOW.wall + 6, ..NOW });
        pier.direction = direction;
        let goes = pier.settles(10);
        assert!(!goes.is_over(), "{direction} {is_gone}: {goes:?}");
        // An abort creates no Job before it is certain that no requested Job will arrive.
        let goes = if direction == "Abort" { pier.settles(80) } else { goes };
        assert!(!goes.is_over() && pier.jobs.len() == made + 1, "{direction} {is_gone}: {goes:?}");
        assert_eq!(goes.in_flight[0].back, direction == "Undo", "{goes:?}");
    }
}

/// The overwritten annotation is restored while the Job runs: the Job belongs to its step again, in every direction,
/// and nothing happens before the Job ends.
#[test]
fn restored_mark_finds_its_job() {
    for way in [["Abort", "Abort"], ["Undo", "Undo"], ["Abort", "Forward"], ["Undo", "Forward"]] {
        let mut pier = Pier::new();
        pier.settles(0);
        let (marked, none) = (pier.ship.clone().unwrap(), json!({"pointsman.dev/rollout": "mine"}));
        pier.ship.as_mut().unwrap()["metadata"]["annotations"] = none;
        pier.direction = way[0];
        pier.settles(10);
        pier.direction = way[1];
        pier.ship = Some(marked.clone());
        let waits = pier.settles(20);
        assert!(!waits.is_over() && pier.jobs.len() == 1, "{way:?}: {waits:?}");
        assert_eq!(pier.ship.as_ref().unwrap()["spec"], marked["spec"], "{way:?}");
        pier.ends(0, "Complete");
        pier.settles(30);
        assert_eq!(pier.jobs.len(), if way[1] == "Undo" { 2 } else { 1 }, "{way:?}: {:?}", pier.status);
    }
    // The object starts again, and no second Job runs at the same time.
    let mut pier = Pier::new();
    pier.settles(0);
    pier.unmark();
    for (direction, after) in [("Undo", 10), ("Forward", 20)] {
        pier.direction = direction;
        pier.settles(after);
    }
    assert_eq!((pier.jobs.len(), pier.status.in_flight.len()), (1, 1), "{:?}", pier.status);
}

/// Checks that the undo has ended and names the object and its Job.
#[track_caller]
fn names_job(pier: &Pier, job: usize) {
    let told = &pier.status;
    assert!(told.is_over() && told.leaves_objects(), "{told:?}");
    assert!(told.message.contains("n/a") && told.message.contains(&pier.jobs[job].0), "{}", told.message);
}

/// The overwritten annotation is restored after the end of the rollout, which named the object: the rollout continues.
#[test]
fn late_restored_mark_finds_job() {
    let mut pier = Pier::new();
    pier.settles(0);
    let marked = pier.ship.clone();
    pier.ship.as_mut().unwrap()["metadata"]["annotations"] = json!({"pointsman.dev/rollout": "mine"});
    pier.direction = "Undo";
    pier.settles(10);
    pier.ends(0, "Complete");
    pier.settles(20);
    names_job(&pier, 0);
    let (left, status) = (pier.ship.clone(), pier.status.clone());
    let goes_home = |pier: &mut Pier, after: u64| {
        let goes = pier.settles(after);
        assert!(!goes.is_over() && pier.jobs.len() == 2, "{goes:?}");
        pier.ends(1, "Complete");
        pier.settles(after + 10);
        let home = pier.settles(after + 80);
        assert!(home.is_over() && !home.leaves_objects() && !home.message.contains("n/a"), "{home:?}");
        assert!(pier.ship.as_ref().unwrap()["spec"].get("lock").is_none(), "{:?}", pier.ship);
    };
    pier.ship = marked.clone();
    goes_home(&mut pier, 30);
    // An operator confirms first and restores the annotation later: another resume rechecks the object.
    (pier.ship, pier.status) = (left, status);
    pier.jobs.truncate(1);
    // A finished rollout is blocked neither by a foreign annotation nor by the object's health.
    pier.ship.as_mut().unwrap()["status"]["conditions"][0]["status"] = json!("False");
    pier.status.resume(ClockReading { wall: NOW.wall + 150, ..NOW });
    assert!(pier.settles(155).is_over() && !pier.status.leaves_objects(), "{:?}", pier.status);
    pier.ship = marked;
    assert!(pier.settles(160).is_over());
    pier.status.resume(ClockReading { wall: NOW.wall + 165, ..NOW });
    goes_home(&mut pier, 170);
}

/// A client edits a field that is restored later, while a Job must be reverted. After the message the client resumes
/// the rollout, which keeps that field.
#[test]
fn manual_edit_pauses_undo_once() {
    let mut pier = Pier::new();
    pier.settles(0);
    pier.ends(0, "Complete");
    pier.settles(5);
    pier.ship.as_mut().unwrap()["spec"]["lock"] = json!("mine");
    pier.direction = "Undo";
    let held = pier.settles(10);
    assert_eq!((held.reason.as_deref(), pier.jobs.len()), (Some("Held"), 1), "{held:?}");
    pier.status.resume(ClockReading { wall: NOW.wall + 15, ..NOW });
    pier.settles(20);
    // A failing Job does not repeat that message.
    pier.ends(1, "Failed");
    assert_eq!(pier.settles(22).reason.as_deref(), Some("JobFailed"));
    pier.status.resume(ClockReading { wall: NOW.wall + 24, ..NOW });
    pier.settles(26);
    assert_eq!(pier.jobs.len(), 3, "{:?}", pier.status);
    pier.ends(2, "Complete");
    pier.settles(30);
    let home = pier.settles(110);
    assert!(home.is_over() && !home.leaves_objects(), "{home:?}");
    assert_eq!(pier.ship.unwrap()["spec"]["lock"], "mine");
}

/// The overwritten annotation is restored after the end, and removed again before the Job is reverted: creating Jobs
/// fails, or a client has changed a field. The object is reported again.
#[test]
fn flapping_mark_hides_no_job() {
    for is_changed in [true, false] {
        let (mut pier, mut marked) = Pier::new().loses_its_mark(0);
        if is_changed {
            marked["spec"]["lock"] = json!("mine");
        }
        pier.jobless = !is_changed;
        pier.ship = Some(marked);
        let waits = pier.settles(100);
        assert!(!waits.is_over() && pier.jobs.len() == 1, "{waits:?}");
        pier.unmark();
        if is_changed {
            assert_eq!(waits.reason.as_deref(), Some("Held"), "{waits:?}");
            pier.status.resume(ClockReading { wall: NOW.wall + 105, ..NOW });
        }
        pier.jobless = false;
        pier.settles(110);
        pier.settles(200);
        names_job(&pier, 0);
    }
}

/// An older annotation records the first of two waves as done and nothing of the second one, whose Job is lost. The Job
/// does not belong to the first wave, although the step numbers are equal.
#[test]
fn lost_job_belongs_to_wave() {
    let mut pier = Pier { is_second: true, ..Pier::new() };
    pier.settles(0);
    pier.settles(70);
    assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
    let mark = &mut pier.ship.as_mut().unwrap()["metadata"]["annotations"]["pointsman.dev/rollout"];
    let older = mark.as_str().unwrap().replace(r#","rest":1}"#, "}");
    assert_ne!(*mark, older.as_str());
    *mark = older.into();
    pier.direction = "Undo";
    pier.settles(80);
    pier.ends(0, "Complete");
    pier.settles(90);
    // The Job is checked again before the first wave is reverted.
    pier.denied = true;
    pier.settles(200);
    pier.denied = false;
    pier.runner_cache.allowed("u-a");
    pier.settles(210);
    pier.settles(300);
    names_job(&pier, 0);
    assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
    assert!(pier.ship.as_ref().unwrap()["spec"].get("flag").is_none(), "{:?}", pier.ship);
}

/// While the Job runs, a client copies the annotation of a finished object to this object.
#[test]
fn premature_mark_skips_nothing() {
    for direction in ["Forward", "Undo"] {
        let mut pier = Pier::new();
        pier.settles(0);
        assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
        let mark = &mut pier.ship.as_mut().unwrap()["metadata"]["annotations"]["pointsman.dev/rollout"];
        let ahead = mark.as_str().unwrap().replace(r#""step":{"rest":1}"#, r#""step":{"rest":3}"#);
        assert_ne!(*mark, ahead.as_str());
        *mark = ahead.into();
        pier.settles(10);
        pier.direction = direction;
        for after in [20, 100] {
            let waits = pier.settles(after);
            assert!(!waits.is_over() && pier.jobs.len() == 1, "{direction}: {waits:?}");
        }
        pier.ends(0, "Complete");
        pier.settles(110);
        if direction == "Forward" {
            assert!(pier.settles(200).is_over(), "{:?}", pier.status);
        }
    }
}

/// A runner froze while creating the Job, and another runner changes the direction: the Job arrives afterwards.
#[test]
fn late_job_is_reverted() {
    for direction in ["Undo", "Abort"] {
        let mut pier = Pier { jobless: true, ..Pier::new() };
        pier.settles(0);
        pier.direction = direction;
        (pier.runner_cache, pier.jobless) = (RunnerCache::default(), false);
        let waits = pier.settles(10);
        assert!(
            waits.message.contains("an earlier request may still create the object: waiting until"),
            "{direction}: {waits:?}"
        );
        assert!(!waits.is_over() && pier.jobs.is_empty(), "{direction}: {waits:?}");
        let late = pier.late.take().expect("it was to be made");
        pier.jobs.push(late);
        let runs = pier.settles(70);
        assert!(!runs.is_over() && pier.jobs.len() == 1, "{direction}: {runs:?}");
        pier.ends(0, "Complete");
        pier.settles(71);
        if direction == "Undo" {
            pier.settles(72);
            pier.ends(1, "Complete");
            pier.settles(80);
            let home = pier.settles(200);
            assert!(home.is_over() && !home.leaves_objects() && pier.jobs.len() == 2, "{home:?}");
            assert!(pier.ship.as_ref().unwrap()["spec"].get("lock").is_none(), "{:?}", pier.ship);
        }
    }
}

/// The Job of an abort arrives late and is reverted: its request is no longer outstanding, else the Job would count
/// again after its revert.
#[test]
fn late_job_is_reverted_once() {
    let mut pier = Pier { jobless: true, ..Pier::new() };
    pier.settles(0);
    pier.direction = "Abort";
    (pier.runner_cache, pier.jobless) = (RunnerCache::default(), false);
    let waits = pier.settles(10);
    assert!(waits.in_flight[0].may_come.is_some(), "{waits:?}");
    pier.settles(99);
    let late = pier.late.take().expect("it was to be made");
    pier.jobs.push(late);
    pier.ends(0, "Complete");
    pier.direction = "Undo";
    let reverts = pier.settles(100);
    assert!(pier.jobs.len() == 2 && reverts.in_flight[0].may_come.is_none(), "{reverts:?}");
}

/// The rollback of an object has just removed its annotation when the rollout turns forward, and again when the first
/// Job of the new attempt was created: that Job is reverted too.
#[test]
fn job_after_rollback_is_reverted() {
    let mut pier = Pier { has_lock: false, ..Pier::new() };
    pier.settles(0);
    pier.ends(0, "Complete");
    pier.ship.as_mut().unwrap()["status"]["level"] = json!("v2");
    pier.settles(10);
    let told = pier.settles(100);
    assert!(told.in_flight.is_empty(), "{told:?}");
    pier.direction = "Undo";
    pier.runs_job(110, 2);
    pier.ends(1, "Complete");
    while pier.ship.as_ref().unwrap()["metadata"]["annotations"].get("pointsman.dev/rollout").is_some() {
        assert!(pier.plans_once(120).is_none(), "{:?}", pier.status);
    }
    assert_eq!(pier.status.in_flight.len(), 1, "{:?}", pier.status);
    pier.direction = "Forward";
    pier.runs_job(130, 3);
    pier.ends(2, "Complete");
    pier.direction = "Undo";
    let told = pier.settles(140);
    assert!(!told.is_over() && pier.jobs.len() == 4, "{told:?}");
}

/// A request of the undo creates its Job late, after another client overwrote the annotation, and the rollout turns
/// forward again: the rollout does not end while the Job runs.
#[test]
fn forward_turn_hides_no_reverting_job() {
    let mut pier = Pier::new();
    pier.settles(0);
    pier.ends(0, "Complete");
    pier.settles(10);
    pier.direction = "Undo";
    pier.jobless = true;
    pier.settles(20);
    let late = pier.late.take().expect("an undo of the Job");
    pier.jobs.push(late);
    pier.ship.as_mut().unwrap()["metadata"]["annotations"] = json!({"pointsman.dev/rollout": "mine"});
    (pier.runner_cache, pier.jobless) = (RunnerCache::default(), false);
    for (direction, after) in [("Forward", 25), ("Undo", 30), ("Abort", 40)] {
        pier.direction = direction;
        let told = pier.settles(after);
        assert!(!told.is_over() && told.in_flight.len() == 1, "{direction}: {told:?}");
    }
    pier.ends(1, "Complete");
    pier.settles(50);
    let told = pier.settles(120);
    assert!(told.is_over() && told.message.contains("changed in part and not undone: n/a"), "{told:?}");
}

/// The Job never arrives: the rollout ends, and reverts nothing that was not done.
#[test]
fn lost_job_is_not_reverted() {
    let mut pier = Pier { jobless: true, ..Pier::new() };
    pier.settles(0);
    pier.direction = "Undo";
    (pier.runner_cache, pier.jobless) = (RunnerCache::default(), false);
    pier.settles(10);
    pier.settles(80);
    let home = pier.settles(200);
    assert!(home.is_over() && !home.leaves_objects() && pier.jobs.is_empty(), "{home:?}");
    assert!(pier.ship.as_ref().unwrap()["spec"].get("lock").is_none(), "{:?}", pier.ship);
}

/// The first step of the second wave is a Job. Without the annotation, the completed first wave is unknown.
#[test]
fn later_wave_hides_nothing() {
    let second = Pier { is_second: true, has_lock: false, ..Pier::new() };
    let (mut pier, marked) = second.loses_its_mark(70);
    assert_eq!(pier.ship.as_ref().unwrap()["spec"]["flag"], true);
    assert!(pier.status.message.contains("nor its earlier progress"), "{}", pier.status.message);
    // The restored annotation records the first wave, which is reverted, and nothing of the Job.
    pier.ship = Some(marked);
    pier.settles(200);
    pier.settles(300);
    assert!(pier.ship.as_ref().unwrap()["spec"].get("flag").is_none(), "{:?}", pier.ship);
    names_job(&pier, 0);
    assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
}

/// The annotation is restored, and the Job's effect is already undone without another Job.
#[test]
fn manually_reverted_is_not_reported() {
    let (mut pier, mut marked) = Pier { says_undone: true, ..Pier::new() }.loses_its_mark(0);
    marked["status"]["level"] = json!("low");
    pier.ship = Some(marked);
    pier.settles(100);
    let home = pier.settles(200);
    assert!(home.is_over() && !home.leaves_objects() && home.failures.is_empty(), "{home:?}");
    assert!(pier.jobs.len() == 1 && pier.ship.as_ref().unwrap()["spec"].get("lock").is_none(), "{:?}", pier.ship);
}

/// While the Job runs, a client restores an older annotation without this step. The rollout reverts the steps of that
/// annotation, and every run reports the Job's effect until an operator confirms.
#[test]
fn an_older_mark_hides_no_job() {
    let mut pier = Pier { is_towed: true, ..Pier::new() };
    pier.settles(0);
    pier.ends(0, "Complete");
    pier.settles(1);
    let mark = &mut pier.ship.as_mut().unwrap()["metadata"]["annotations"]["pointsman.dev/rollout"];
    let older = mark.as_str().unwrap().replace(r#""step":{"rest":2}"#, r#""step":{"rest":1}"#);
    assert_ne!(*mark, older.as_str());
    *mark = older.into();
    pier.direction = "Undo";
    pier.settles(10);
    pier.ends(1, "Complete");
    pier.settles(20);
    assert_eq!(pier.jobs.len(), 3, "{:?}", pier.status);
    pier.settles(21);
    pier.ends(2, "Complete");
    pier.settles(30);
    for after in [100, 105] {
        pier.settles(after);
        names_job(&pier, 1);
    }
    pier.status.resume(ClockReading { wall: NOW.wall + 110, ..NOW });
    let looked = pier.settles(120);
    assert!(looked.is_over() && !looked.leaves_objects(), "{looked:?}");
}

/// Another object paused the undo, and an operator resumes: the Job's effect is still reported.
#[test]
fn resume_does_not_confirm_end() {
    let (mut pier, _) = Pier::new().loses_its_mark(0);
    // The other object is still in flight.
    (pier.status.phase, pier.status.reason) = (RolloutPhase::Paused, None);
    pier.status.resume(ClockReading { wall: NOW.wall + 95, ..NOW });
    pier.settles(100);
    names_job(&pier, 0);
}

/// Writes of the object are rejected, so the Job's effect is not recorded: the object stays in flight until the record
/// is written.
#[test]
fn unrecorded_object_stays() {
    for how in ["Complete", "Failed"] {
        let mut pier = Pier::new();
        pier.settles(0);
        (pier.denied, pier.direction) = (true, "Abort");
        pier.settles(10);
        pier.ends(0, how);
        for after in [20, 700, 1_400, 2_100] {
            let waits = pier.settles(after);
            assert!(!waits.is_over() && waits.in_flight.len() == 1, "{how} {after}: {waits:?}");
        }
        (pier.denied, pier.direction) = (false, "Undo");
        pier.runner_cache.allowed("u-a");
        pier.settles(2_110);
        assert_eq!(pier.jobs.len(), 2, "{how}: {:?}", pier.status);
    }
}

/// While the Job that reverts the step runs, a client removes the annotation: the reverted state is unknown. When the
/// annotation is restored, the next run continues.
#[test]
fn unreverted_objects_are_reported() {
    let mut pier = Pier::failed("Undo");
    let marked = pier.ship.clone();
    pier.unmark();
    assert!(!pier.settles(20).is_over());
    pier.ends(1, "Failed");
    pier.settles(30);
    let left = pier.settles(100);
    assert!(left.is_over() && left.leaves_objects() && left.message.contains("n/a"), "{left:?}");
    // An operator confirms: the rollout does not end a second time.
    let status = pier.status.clone();
    pier.status.resume(ClockReading { wall: NOW.wall + 105, ..NOW });
    let looked = pier.settles(108);
    assert!(looked.is_over() && !looked.leaves_objects() && !looked.message.contains("n/a"), "{looked:?}");
    assert_eq!(looked.history, status.history);
    (pier.status, pier.ship) = (status, marked);
    let failed = pier.settles(110);
    assert_eq!(failed.reason.as_deref(), Some("JobFailed"), "{failed:?}");
    pier.status.resume(ClockReading { wall: NOW.wall + 115, ..NOW });
    pier.settles(120);
    pier.ends(2, "Complete");
    pier.settles(130);
    let home = pier.settles(200);
    assert!(home.is_over() && !home.leaves_objects() && !home.message.contains("n/a"), "{home:?}");
    assert!(pier.ship.as_ref().unwrap()["spec"].get("lock").is_none(), "{:?}", pier.ship);
}
