//! A runner of the rollout, call by call.

use std::collections::VecDeque;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Facts, OtherKind, Webhook};
use pointsman_rollout::{
    ClockReading, ConversionOutcome, FleetObject, LookupRequest, LookupResults, LookupTarget, ObjectWrite, PlanInput,
    Rollout, RolloutPlan, RolloutStatus, RolloutWrite, RunnerCache, answered_rollout, plan, rollout_lookups,
    step_lookups,
};
use serde_json::{Value, json};

use super::fake_namespace::{FakeNamespace, owners};

/// A fake namespace, its StagedRollout, and a clock.
pub(super) struct Fixture {
    pub(super) fake_namespace: FakeNamespace,
    pub(super) kind: &'static Kind,
    pub(super) rollout: Value,
    pub(super) version: u64,
    pub(super) refuses: bool,
    /// A required condition of the rollout fails.
    pub(super) shut: bool,
    /// Listing newapps is forbidden.
    pub(super) blind: bool,
    lease: Option<(usize, u64)>,
}

/// A process that runs the rollout.
#[derive(Default)]
pub(super) struct FakeRunner {
    runner_cache: RunnerCache,
    writes: VecDeque<RolloutWrite>,
    version: u64,
    started: u64,
    last: u64,
    pub(super) deaf: bool,
    /// The fleet is listed, and the last plan needs no other list: the runner watches.
    is_listed: bool,
    /// The StagedRollout, the definition, and the compiled rollout, reused while both inputs are unchanged.
    read: Option<(Value, &'static Kind, Rollout)>,
}

/// The runner's last call.
pub(super) enum RunnerCall {
    Nothing,
    Planned(Box<RolloutPlan>),
    Status(Box<RolloutStatus>),
    Marked(String),
    /// The runner is about to write another object.
    Writes(Box<ObjectWrite>),
}

impl Fixture {
    pub(super) fn new(fake_namespace: FakeNamespace, kind: &'static Kind, rollout: Value) -> Self {
        Self { fake_namespace, kind, rollout, version: 1, refuses: false, shut: false, blind: false, lease: None }
    }

    pub(super) fn status(&self) -> RolloutStatus {
        RolloutStatus::of(&self.rollout)
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.rollout["spec"][name] = value;
        self.version += 1;
    }

    pub(super) fn resume(&mut self) {
        let mut status = self.status();
        status.resume(ClockReading { wall: self.fake_namespace.now, steady: Duration::ZERO });
        self.rollout["status"] = status.to_json();
        self.version += 1;
    }

    fn leases(&mut self, fake_runner: usize) -> bool {
        let free =
            self.lease.is_none_or(|(holder, renewed)| holder == fake_runner || self.fake_namespace.now - renewed > 15);
        if free {
            self.lease = Some((fake_runner, self.fake_namespace.now));
        }
        free
    }

    fn answers(&self, rollout: &Rollout, status: &RolloutStatus, fleet: &[FleetObject]) -> LookupResults {
        let mut answers = LookupResults::default();
        for lookup in rollout_lookups(rollout, status).into_iter().chain(step_lookups(rollout, status, fleet)) {
            self.answer(&lookup, &mut answers);
        }
        answers
    }

    fn answer(&self, lookup: &LookupRequest, answers: &mut LookupResults) {
        let all = || self.fake_namespace.all(&lookup.plural);
        let labelled = |labels: &str| {
            let wanted: Vec<(&str, &str)> = labels.split(',').filter_map(|one| one.split_once('=')).collect();
            let has = |one: &&Value| wanted.iter().all(|(label, value)| one["metadata"]["labels"][label] == *value);
            all().filter(has).cloned().collect::<Vec<_>>()
        };
        match &lookup.wanted {
            LookupTarget::Named(name) => {
                let found: Vec<Value> = self.fake_namespace.get(&lookup.plural, name).cloned().into_iter().collect();
                answers.saw(lookup, &found);
            }
            LookupTarget::Metadata(_) if self.blind && lookup.plural == "newapps" => {
                answers.cannot_read(lookup, "newapps.example.com cannot be listed".to_owned());
            }
            LookupTarget::Labelled(labels) | LookupTarget::Metadata(labels) => answers.saw(lookup, &labelled(labels)),
            LookupTarget::Owned(name) => {
                let owners = |one: &Value| one["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                let is_its = |one: &&Value| owners(one).iter().any(|owner| owner["name"] == name.as_str());
                answers.saw(lookup, &all().filter(is_its).cloned().collect::<Vec<_>>());
            }
            LookupTarget::Referring(uid) => {
                let found = self.fake_namespace.belonging(uid).into_iter();
                let found: Vec<Value> =
                    found.map(|(plural, one)| json!({"resource": plural, "metadata": one["metadata"]})).collect();
                answers.saw(lookup, &found);
            }
            LookupTarget::Mutated { .. } => panic!("nothing here is mutated"),
            LookupTarget::Replaced { name, .. } => {
                let to = match lookup.plural.as_str() {
                    "oldapps" => OtherKind { group: "example.com", kind: "NewApp", version: None },
                    _ => OtherKind { group: "was.example.com", kind: "OldApp", version: None },
                };
                let one = self.fake_namespace.get(&lookup.plural, name);
                let became = |one: &Value| {
                    let other = Webhook::convert_by(self.kind, &one.to_string(), to, &Facts::default()).unwrap();
                    ConversionOutcome::Object(
                        serde_json::from_str(&other.text).unwrap(),
                        one["metadata"]["generation"].as_i64(),
                    )
                };
                let gone = || ConversionOutcome::Waits("gone".to_owned());
                answers.became(lookup, one.map_or_else(gone, became));
            }
        }
    }
}

impl FakeRunner {
    pub(super) fn started(now: u64) -> Self {
        Self { started: now, last: now, ..Self::default() }
    }

    /// Makes the next call, if the runner holds the Lease. The caller performs writes to other objects.
    pub(super) fn step(&mut self, at: usize, fixture: &mut Fixture) -> RunnerCall {
        let frozen = fixture.fake_namespace.now - self.last > 10;
        self.last = fixture.fake_namespace.now;
        if !fixture.leases(at) || frozen {
            self.writes.clear();
            return RunnerCall::Nothing;
        }
        match self.writes.pop_front() {
            None => self.look(fixture),
            Some(RolloutWrite::Status(status)) => self.put(*status, fixture),
            Some(RolloutWrite::Move(write)) => {
                let done = fixture.fake_namespace.patch("oldapps", &write.name, &write.patch);
                if done.is_ok() {
                    self.answered(&write.uid);
                }
                RunnerCall::Marked(write.name)
            }
            Some(RolloutWrite::Object(write)) => RunnerCall::Writes(write),
            Some(other) => panic!("nothing here asks for that: {other:?}"),
        }
    }

    /// True if the runner has finished its lookups and creates this object next.
    pub(super) fn is_about_to_make(&self, plural: &str, name: &str) -> bool {
        self.writes.iter().any(|write| match write {
            RolloutWrite::Object(one) => one.call.makes() && (one.plural.as_str(), one.name.as_str()) == (plural, name),
            _ => false,
        })
    }

    /// The runner receives the success of a write.
    pub(super) fn answered(&mut self, uid: &str) {
        self.runner_cache.allowed(uid);
        if std::mem::take(&mut self.deaf) {
            self.writes.clear();
        }
    }

    /// The runner receives a rejection by a webhook.
    pub(super) fn refused(&mut self, uid: &str, fixture: &Fixture) {
        self.runner_cache.refused(uid, "no", self.moment(fixture));
    }

    /// The runner receives that the write is too early.
    pub(super) fn not_yet(&mut self, uid: &str, fixture: &Fixture) {
        self.runner_cache.not_yet(uid, "not yet", self.moment(fixture));
    }

    fn moment(&self, fixture: &Fixture) -> ClockReading {
        ClockReading {
            wall: fixture.fake_namespace.now,
            steady: Duration::from_secs(fixture.fake_namespace.now - self.started),
        }
    }

    fn reads(&mut self, fixture: &Fixture) {
        let spec = &fixture.rollout["spec"];
        let is_known =
            |(known, kind, _): &(Value, &'static Kind, Rollout)| known == spec && std::ptr::eq(*kind, fixture.kind);
        if !self.read.as_ref().is_some_and(is_known) {
            let rollout = answered_rollout(&fixture.rollout, fixture.kind).unwrap();
            self.read = Some((spec.clone(), fixture.kind, rollout));
        }
    }

    fn look(&mut self, fixture: &Fixture) -> RunnerCall {
        self.reads(fixture);
        let status = fixture.status();
        let Some((_, _, rollout)) = &self.read else { return RunnerCall::Nothing };
        let fleet: Vec<FleetObject> =
            fixture.fake_namespace.all("oldapps").filter_map(|object| FleetObject::of(object, rollout)).collect();
        let facts = PlanInput {
            runner_cache: self.runner_cache.clone(),
            consistent: !self.is_listed,
            answers: fixture.answers(rollout, &status, &fleet),
            closed_gate: fixture.shut.then(|| "something is shut".to_owned()),
            ..PlanInput::default()
        };
        let planned = plan(rollout, &status, &fleet, facts, self.moment(fixture));
        self.runner_cache = planned.runner_cache.clone();
        self.writes = planned.writes.clone().into();
        self.is_listed = !planned.wants_list;
        self.version = fixture.version;
        RunnerCall::Planned(Box::new(planned))
    }

    fn put(&mut self, status: RolloutStatus, fixture: &mut Fixture) -> RunnerCall {
        if self.version != fixture.version {
            self.writes.clear();
            return RunnerCall::Nothing;
        }
        fixture.rollout["status"] = status.to_json();
        fixture.version += 1;
        self.version = fixture.version;
        if std::mem::take(&mut self.deaf) {
            self.writes.clear();
        }
        RunnerCall::Status(Box::new(status))
    }
}

/// True if an object has a controller owner.
pub(super) fn is_controlled(object: &Value) -> bool {
    owners(object).iter().any(|owner| owner["controller"] == true)
}
