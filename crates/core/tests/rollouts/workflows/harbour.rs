//! A cluster as far as workflows can tell: objects, Jobs, a StagedRollout, and whoever runs it, call by call.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::rollout::{
    FleetObject, Rollout, JobWrite, ClockReading, RunnerCache, LookupResults, PlanInput, RolloutPlan, RolloutStatus,
    RolloutWrite, LookupTarget, answered_rollout, plan, step_questions,
};
use serde_json::{Value, json};

use crate::boat::apply;

/// A Job, and how it stands.
#[derive(Clone, Debug)]
pub(super) struct SimJob {
    pub(super) body: Value,
    /// Whether it has ended, and well.
    pub(super) end: Option<bool>,
}

/// A cluster.
pub(super) struct Harbour {
    pub(super) kind: Kind,
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) jobs: BTreeMap<String, SimJob>,
    /// Jobs that were deleted, as they were.
    pub(super) gone: Vec<SimJob>,
    /// Every Job that was ever made, and how often.
    pub(super) made: BTreeMap<String, usize>,
    pub(super) rollout: Value,
    pub(super) version: u64,
    pub(super) now: u64,
    pub(super) denied: Option<String>,
    pub(super) created: usize,
    pub(super) log: Vec<String>,
    lease: Option<(usize, u64)>,
    /// What the StagedRollout says, and what comes of it, which takes longer than a step of a history.
    read: RefCell<Option<(Value, Rc<Rollout>)>>,
}

/// A process that runs the rollout.
#[derive(Default)]
pub(super) struct Pilot {
    remembered: RunnerCache,
    writes: VecDeque<RolloutWrite>,
    version: u64,
    started: u64,
    last: u64,
    pub(super) lost: bool,
}

/// What a pilot has just done.
pub(super) enum Call {
    Nothing,
    Planned(Box<RolloutPlan>),
    Status(Box<RolloutStatus>),
    /// An object as it was, and its name.
    Patched(Box<Value>, String),
    /// A Job was asked for; whether it was made.
    Job(Box<JobWrite>, bool),
}

impl Harbour {
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

    /// The titles of Jobs that run.
    pub(super) fn running(&self) -> Vec<String> {
        self.jobs.iter().filter(|(_, job)| job.end.is_none()).map(|(title, _)| title.clone()).collect()
    }

    /// A Job ends, and what it is for is done if that is well.
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

    /// The answers to what a plan has to know.
    fn answers(&self, rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> LookupResults {
        let mut answers = LookupResults::default();
        for question in step_questions(rollout, status, fleet) {
            let LookupTarget::Named(name) = &question.wanted else { panic!("{question:?}") };
            let title = format!("{}/{name}", question.namespace.clone().unwrap());
            let found = self.jobs.get(&title).map(|job| {
                let kind = match job.end {
                    None => "Suspended",
                    Some(true) => "Complete",
                    Some(false) => "Failed",
                };
                json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "Said"}]}})
            });
            answers.saw(&question, &found.into_iter().collect::<Vec<_>>());
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

    fn leases(&mut self, pilot: usize) -> bool {
        let free = self.lease.is_none_or(|(holder, renewed)| holder == pilot || self.now - renewed > 15);
        if free {
            self.lease = Some((pilot, self.now));
        }
        free
    }
}

impl Pilot {
    pub(super) fn started(now: u64) -> Self {
        Self { started: now, last: now, ..Self::default() }
    }

    /// The next call, with the Lease alone.
    pub(super) fn step(&mut self, at: usize, harbour: &mut Harbour) -> Call {
        let frozen = harbour.now - self.last > 10;
        self.last = harbour.now;
        if !harbour.leases(at) || frozen {
            self.writes.clear();
            return Call::Nothing;
        }
        match self.writes.pop_front() {
            None => self.look(harbour),
            Some(RolloutWrite::Status(status)) => self.put(*status, harbour),
            Some(RolloutWrite::Move(write)) => {
                let before = harbour.objects.get(&write.name).cloned().unwrap_or_default();
                match harbour.patch(&write.name, &write.patch) {
                    Ok(()) => {
                        self.answered();
                        self.remembered.allowed(&write.uid);
                        Call::Patched(Box::new(before), write.name)
                    }
                    Err("refused") => {
                        self.remembered.refused(&write.uid, "no", self.moment(harbour));
                        Call::Nothing
                    }
                    Err(_) => Call::Nothing,
                }
            }
            Some(RolloutWrite::Job(write)) => {
                let title = format!("{}/{}", write.namespace, write.name);
                let is_new = !harbour.jobs.contains_key(&title);
                if is_new {
                    harbour.jobs.insert(title.clone(), SimJob { body: write.body.clone(), end: None });
                    *harbour.made.entry(title).or_default() += 1;
                }
                self.answered();
                self.remembered.allowed(&write.uid);
                Call::Job(write, is_new)
            }
            Some(RolloutWrite::Object(write)) => panic!("no step here is about other objects: {write:?}"),
            Some(RolloutWrite::Try(write)) => panic!("workflows ask for no dry run: {write:?}"),
            Some(RolloutWrite::Hold(write)) => panic!("workflows hold nobody: {write:?}"),
        }
    }

    /// What was planned behind a write whose answer is lost is of yesterday.
    fn answered(&mut self) {
        if std::mem::take(&mut self.lost) {
            self.writes.clear();
        }
    }

    fn moment(&self, harbour: &Harbour) -> ClockReading {
        ClockReading { wall: harbour.now, steady: Duration::from_secs(harbour.now - self.started) }
    }

    fn look(&mut self, harbour: &Harbour) -> Call {
        let (rollout, status) = (harbour.compiled(), harbour.status());
        let fleet: Vec<FleetObject> =
            harbour.objects.values().filter_map(|object| FleetObject::of(object, &rollout)).collect();
        let facts = PlanInput {
            remembered: self.remembered.clone(),
            consistent: true,
            answers: harbour.answers(&rollout, &status, &fleet),
            ..PlanInput::default()
        };
        let planned = plan(&rollout, &status, &fleet, facts, self.moment(harbour));
        assert_eq!(planned.standings.len(), fleet.len(), "each object stands somewhere");
        self.remembered = planned.remembered.clone();
        self.writes = planned.writes.clone().into();
        self.version = harbour.version;
        Call::Planned(Box::new(planned))
    }

    fn put(&mut self, status: RolloutStatus, harbour: &mut Harbour) -> Call {
        if self.version != harbour.version {
            self.writes.clear();
            return Call::Nothing;
        }
        harbour.rollout["status"] = status.to_json();
        harbour.version += 1;
        self.version = harbour.version;
        self.answered();
        Call::Status(Box::new(status))
    }
}

/// The titles of Jobs that a status says were seen.
pub(super) fn seen_jobs(status: &RolloutStatus) -> BTreeSet<String> {
    status.in_flight.iter().filter_map(|one| Some(one.job.as_ref()?.name.clone())).collect()
}
