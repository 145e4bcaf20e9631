//! A cluster reduced to the parts that workflows use: objects, Jobs, a StagedRollout, and its runner, call by call.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    ClockReading, FleetObject, JobWrite, LookupResults, LookupTarget, PlanInput, Rollout, RolloutPlan, RolloutStatus,
    RolloutWrite, RunnerCache, answered_rollout, plan, step_lookups,
};
use serde_json::{Value, json};

use crate::database::apply;

/// A Job and its state.
#[derive(Clone, Debug)]
pub(super) struct SimJob {
    pub(super) body: Value,
    /// `Some(true)` if succeeded, `Some(false)` if failed.
    pub(super) end: Option<bool>,
}

/// A cluster.
pub(super) struct FakeCluster {
    pub(super) kind: Kind,
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) jobs: BTreeMap<String, SimJob>,
    /// Deleted Jobs in their last state.
    pub(super) gone: Vec<SimJob>,
    /// Every Job ever created, with the number of creations.
    pub(super) made: BTreeMap<String, usize>,
    pub(super) rollout: Value,
    pub(super) version: u64,
    pub(super) now: u64,
    pub(super) denied: Option<String>,
    pub(super) created: usize,
    pub(super) log: Vec<String>,
    lease: Option<(usize, u64)>,
    /// The StagedRollout and its compiled form; compiling takes longer than a step of a history.
    read: RefCell<Option<(Value, Rc<Rollout>)>>,
}

/// A process that runs the rollout.
#[derive(Default)]
pub(super) struct FakeRunner {
    runner_cache: RunnerCache,
    writes: VecDeque<RolloutWrite>,
    version: u64,
    started: u64,
    last: u64,
    pub(super) lost: bool,
}

/// The runner's last call.
pub(super) enum Call {
    Nothing,
    Planned(Box<RolloutPlan>),
    Status(Box<RolloutStatus>),
    /// The object before the patch, and its name.
    Patched(Box<Value>, String),
    /// A requested Job, and whether it was created.
    Job(Box<JobWrite>, bool),
}

impl FakeCluster {
    pub(super) fn new(kind: Kind, rollout: Value) -> Self {
        Self {
            kind,
            objects: BTreeMap::new(),
            jobs: BTreeMap::new(),
            gone: Vec::new(),
            made: BTreeMap::new(),
            rollout,
            version: 1,
            now: 1_795_000_000,
            denied: None,
            created: 0,
            log: Vec::new(),
            lease: None,
            read: RefCell::default(),
        }
    }

    pub(super) fn create(&mut self, canary: bool) {
        let at = self.created;
        self.created += 1;
        let name = format!("b-{at}");
        let mut metadata = json!({"namespace": "n", "name": name, "uid": format!("uid-{at}"), "generation": 1});
        if canary {
            metadata["labels"] = json!({"rollout": "canary"});
        }
        if at % 2 == 1 {
            metadata["annotations"] = json!({"a": "b"});
        }
        let mut spec = json!({"flag": true});
        if at % 3 == 1 {
            spec["note"] = json!({"other": "x"});
        }
        let status = json!({"level": "v1", "conditions": [{"type": "Ready", "status": "True"}]});
        self.objects.insert(name, json!({"metadata": metadata, "spec": spec, "status": status}));
    }

    pub(super) fn status(&self) -> RolloutStatus {
        RolloutStatus::of(&self.rollout)
    }

    fn compiled(&self) -> Rc<Rollout> {
        let (spec, mut read) = (&self.rollout["spec"], self.read.borrow_mut());
        match read.as_ref().filter(|(known, _)| known == spec) {
            Some((_, rollout)) => Rc::clone(rollout),
            None => {
                let rollout = Rc::new(answered_rollout(&self.rollout, &self.kind).unwrap());
                *read = Some((spec.clone(), Rc::clone(&rollout)));
                rollout
            }
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.rollout["spec"][name] = value;
        self.version += 1;
    }

    pub(super) fn resume(&mut self) {
        let mut status = self.status();
        status.resume(ClockReading { wall: self.now, steady: Duration::ZERO });
        self.rollout["status"] = status.to_json();
        self.set("paused", json!(false));
    }

    /// Titles of running Jobs.
    pub(super) fn running(&self) -> Vec<String> {
        self.jobs.iter().filter(|(_, job)| job.end.is_none()).map(|(title, _)| title.clone()).collect()
    }

    /// Ends a Job. A successful Job takes effect on its object.
    pub(super) fn ends(&mut self, title: &str, well: bool) {
        let Some(job) = self.jobs.get_mut(title) else { return };
        job.end = Some(well);
        let env = job.body["spec"]["template"]["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let value = |name: &str| env.iter().find(|one| one["name"] == name).and_then(|one| one["value"].as_str());
        if let (true, Some(node), Some(level)) = (well, value("NODE"), value("LEVEL"))
            && let Some(object) = self.objects.get_mut(node)
        {
            object["status"]["level"] = json!(level);
        }
    }

    /// Answers the lookups of a plan.
    fn answers(&self, rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> LookupResults {
        let mut answers = LookupResults::default();
        for lookup in step_lookups(rollout, status, fleet) {
            let LookupTarget::Named(name) = &lookup.wanted else { panic!("{lookup:?}") };
            let title = format!("{}/{name}", lookup.namespace.clone().unwrap());
            let found = self.jobs.get(&title).map(|job| {
                let kind = match job.end {
                    None => "Suspended",
                    Some(true) => "Complete",
                    Some(false) => "Failed",
                };
                json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "Said"}]}})
            });
            answers.saw(&lookup, &found.into_iter().collect::<Vec<_>>());
        }
        answers
    }

    fn patch(&mut self, name: &str, patch: &Value) -> Result<(), &'static str> {
        let object = self.objects.get(name).ok_or("stale")?;
        let mut next = object.clone();
        for operation in patch.as_array().unwrap() {
            apply(&mut next, operation).ok_or("stale")?;
        }
        if self.denied.as_deref() == Some(name) {
            return Err("refused");
        }
        for what in ["labels", "annotations"] {
            if next["metadata"][what].as_object().is_some_and(serde_json::Map::is_empty) {
                next["metadata"].as_object_mut().unwrap().remove(what);
            }
        }
        self.objects.insert(name.to_owned(), next);
        Ok(())
    }

    fn leases(&mut self, fake_runner: usize) -> bool {
        let free = self.lease.is_none_or(|(holder, renewed)| holder == fake_runner || self.now - renewed > 15);
        if free {
            self.lease = Some((fake_runner, self.now));
        }
        free
    }
}

impl FakeRunner {
    pub(super) fn started(now: u64) -> Self {
        Self { started: now, last: now, ..Self::default() }
    }

    /// Makes the next call, if the runner holds the Lease.
    pub(super) fn step(&mut self, at: usize, fake_cluster: &mut FakeCluster) -> Call {
        let frozen = fake_cluster.now - self.last > 10;
        self.last = fake_cluster.now;
        if !fake_cluster.leases(at) || frozen {
            self.writes.clear();
            return Call::Nothing;
        }
        match self.writes.pop_front() {
            None => self.look(fake_cluster),
            Some(RolloutWrite::Status(status)) => self.put(*status, fake_cluster),
            Some(RolloutWrite::Move(write)) => {
                let before = fake_cluster.objects.get(&write.name).cloned().unwrap_or_default();
                match fake_cluster.patch(&write.name, &write.patch) {
                    Ok(()) => {
                        self.answered();
                        self.runner_cache.allowed(&write.uid);
                        Call::Patched(Box::new(before), write.name)
                    }
                    Err("refused") => {
                        self.runner_cache.refused(&write.uid, "no", self.moment(fake_cluster));
                        Call::Nothing
                    }
                    Err(_) => Call::Nothing,
                }
            }
            Some(RolloutWrite::Job(write)) => {
                let title = format!("{}/{}", write.namespace, write.name);
                let is_new = !fake_cluster.jobs.contains_key(&title);
                if is_new {
                    fake_cluster.jobs.insert(title.clone(), SimJob { body: write.body.clone(), end: None });
                    *fake_cluster.made.entry(title).or_default() += 1;
                }
                self.answered();
                self.runner_cache.allowed(&write.uid);
                Call::Job(write, is_new)
            }
            Some(RolloutWrite::Object(write)) => panic!("no step here is about other objects: {write:?}"),
            Some(RolloutWrite::Try(write)) => panic!("workflows ask for no dry run: {write:?}"),
            Some(RolloutWrite::Hold(write)) => panic!("workflows hold nobody: {write:?}"),
        }
    }

    /// Writes planned after a write with a lost response are stale.
    fn answered(&mut self) {
        if std::mem::take(&mut self.lost) {
            self.writes.clear();
        }
    }

    fn moment(&self, fake_cluster: &FakeCluster) -> ClockReading {
        ClockReading { wall: fake_cluster.now, steady: Duration::from_secs(fake_cluster.now - self.started) }
    }

    fn look(&mut self, fake_cluster: &FakeCluster) -> Call {
        let (rollout, status) = (fake_cluster.compiled(), fake_cluster.status());
        let fleet: Vec<FleetObject> =
            fake_cluster.objects.values().filter_map(|object| FleetObject::of(object, &rollout)).collect();
        let facts = PlanInput {
            runner_cache: self.runner_cache.clone(),
            consistent: true,
            answers: fake_cluster.answers(&rollout, &status, &fleet),
            ..PlanInput::default()
        };
        let planned = plan(&rollout, &status, &fleet, facts, self.moment(fake_cluster));
        assert_eq!(planned.object_states.len(), fleet.len(), "each object stands somewhere");
        self.runner_cache = planned.runner_cache.clone();
        self.writes = planned.writes.clone().into();
        self.version = fake_cluster.version;
        Call::Planned(Box::new(planned))
    }

    fn put(&mut self, status: RolloutStatus, fake_cluster: &mut FakeCluster) -> Call {
        if self.version != fake_cluster.version {
            self.writes.clear();
            return Call::Nothing;
        }
        fake_cluster.rollout["status"] = status.to_json();
        fake_cluster.version += 1;
        self.version = fake_cluster.version;
        self.answered();
        Call::Status(Box::new(status))
    }
}

/// Titles of Jobs that a status lists as observed.
pub(super) fn seen_jobs(status: &RolloutStatus) -> BTreeSet<String> {
    status.in_flight.iter().filter_map(|one| Some(one.job.as_ref()?.name.clone())).collect()
}
