//! The planner: input, decisions so far, and shared helpers.

use super::start::recheck_requested;
use crate::evaluate::fleet_view::FleetView;
use crate::evaluate::message::Blockers;
use crate::evaluate::object_state::ObjectState;
use crate::evaluate::rewrite::rewrite_gate;
use crate::evaluate::state_evaluator::StateEvaluator;
use crate::observe::facts::PlanInput;
use crate::observe::fleet_object::{FleetObject, Membership};
use crate::observe::moment::{ClockReading, rfc3339};
use crate::observe::status::{
    ANNOTATION_REMOVED, HistoryEntry, InFlightObject, PauseReason, RolloutPhase, RolloutStatus,
};
use crate::spec::rollout::{Direction, NO_WAY_BACK, Rollout};
use crate::steps::context::StepContext;
use crate::steps::writes::job_write::JobWrite;
use crate::steps::writes::object_write::ObjectWrite;
use crate::steps::writes::patch::ObjectPatch;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A plan in progress.
pub(crate) struct Planner<'a> {
    pub(crate) rollout: &'a Rollout,
    pub(crate) fleet: &'a [FleetObject],
    /// Objects that are in flight, or were when this plan began, by uid.
    under_way: HashMap<&'a str, &'a FleetObject>,
    /// For each source version, the refused upgrade to the new one, or `None` if allowed.
    refused_upgrades: BTreeMap<&'a str, Option<String>>,
    pub(crate) now: ClockReading,
    pub(crate) status: RolloutStatus,
    pub(crate) facts: PlanInput,
    pub(crate) wants_list: bool,
    pub(crate) in_the_way: Blockers,
    /// A state word that must be written before anything else.
    pub(crate) pending_state: Option<String>,
    /// Hold and release writes, which precede everything else.
    pub(crate) holds: Vec<ObjectPatch>,
    /// True if start checks were repeated for this plan.
    pub(crate) checks_repeated: bool,
    /// True if the replacement of a deleted object was released just now: the next plan knows whether the deleted
    /// object can be created again.
    pub(crate) is_replaced: bool,
    /// True if the planner makes no decision: the rollout was finished before, or observations are incomplete.
    pub(crate) is_inactive: bool,
    /// True for a recheck of a finished rollout: without findings, its recorded end remains.
    pub(crate) was_over: bool,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        rollout: &'a Rollout,
        status: RolloutStatus,
        fleet: &'a [FleetObject],
        facts: PlanInput,
        now: ClockReading,
    ) -> Self {
        let in_the_way =
            Blockers { trouble: facts.trouble.clone(), closed_gate: facts.closed_gate.clone(), ..Blockers::default() };
        let reserved = status.in_flight_objects();
        let under_way =
            fleet.iter().filter(|object| reserved.contains_key(object.uid()) && object.belongs != Membership::Held);
        let under_way = under_way.map(|object| (object.uid(), object)).collect();
        let refused_upgrades = refused_upgrades(rollout, fleet);
        let (pending_state, wants_list, is_inactive, checks_repeated) =
            (None, false, false, recheck_requested(rollout, &status));
        let holds = Vec::new();
        Self {
            rollout,
            fleet,
            under_way,
            refused_upgrades,
            now,
            status,
            facts,
            wants_list,
            in_the_way,
            pending_state,
            holds,
            checks_repeated,
            is_replaced: false,
            is_inactive,
            was_over: false,
        }
    }

    /// Blocks forward moves while a check fails. An undo is exempt: the failing check may be its reason.
    pub(crate) fn evaluate_checks(&mut self) {
        if self.facts.closed_gate.is_none() && self.status.direction_of(self.rollout) == Direction::Forward {
            self.facts.closed_gate = self.rollout.checks.closed_gate(&self.facts.answers);
            if self.facts.closed_gate.is_none() {
                self.facts.closed_gate = rewrite_gate(self.rollout, &self.status, &self.facts.answers, self.now);
            }
            self.in_the_way.closed_gate.clone_from(&self.facts.closed_gate);
        }
    }

    pub(crate) fn evaluator(&self) -> StateEvaluator<'_> {
        let back = self.status.direction == Direction::Undo;
        StateEvaluator {
            rollout: self.rollout,
            status: &self.status,
            facts: &self.facts,
            refused_upgrades: &self.refused_upgrades,
            now: self.now,
            back,
        }
    }

    /// The state of each object, in fleet order; valid until an object is released, put in flight or changes direction.
    pub(crate) fn object_states(&self) -> Vec<ObjectState> {
        self.evaluator().object_states(self.fleet)
    }

    /// The fleet with states.
    pub(crate) fn view<'s>(&'s self, object_states: &'s [ObjectState]) -> FleetView<'a, 's> {
        FleetView { rollout: self.rollout, status: &self.status, fleet: self.fleet, object_states }
    }

    /// An in-flight object.
    pub(crate) fn object(&self, uid: &str) -> Option<&'a FleetObject> {
        self.under_way.get(uid).copied()
    }

    /// An object in flight on a workflow.
    pub(crate) fn context<'p>(&'p self, in_flight_object: &InFlightObject) -> Option<StepContext<'p>> {
        StepContext::of(self.rollout, self.object(&in_flight_object.uid)?, in_flight_object)
    }

    /// True if an object failed and is not being rolled back. A lost annotation does not count: the object may
    /// continue.
    pub(crate) fn fails(&self, uid: &str) -> bool {
        self.status.failure(uid).is_some_and(|known| known.reason != ANNOTATION_REMOVED && !known.back)
    }

    pub(crate) fn now(&self) -> String {
        rfc3339(self.now.wall)
    }

    /// True if the rollout is paused.
    pub(crate) fn is_stopped(&self) -> bool {
        self.rollout.paused || self.status.halted.is_some()
    }

    /// Requests a list of the whole fleet before any decision.
    pub(crate) fn request_list(&mut self) {
        (self.is_inactive, self.wants_list) = (true, true);
    }

    /// Pauses the rollout until a resume.
    pub(crate) fn halt(&mut self, reason: &str, message: String) {
        if self.status.halted.is_none() {
            self.status.halted = Some(PauseReason { reason: reason.to_owned(), message });
        }
    }

    /// Puts the next objects in flight, up to the limit.
    pub(crate) fn reserve(&mut self, next: &[&'a FleetObject], max_in_flight: usize, back: bool) {
        if self.facts.trouble.is_some() || self.facts.closed_gate.is_some() {
            return;
        }
        let budget = max_in_flight.saturating_sub(self.status.in_flight.len());
        for object in next.iter().take(budget) {
            self.under_way.insert(&object.uid, object);
            let wave = object.wave_progress(back).and_then(|wave_progress| self.rollout.waves.get(wave_progress.wave));
            let (wave, attempt) = wave.map_or((String::new(), 0), |wave| (wave.name.clone(), self.status.attempt));
            let target = object.replacement_uid.clone();
            let marked = object.object_progress.is_some() && object.annotation_of(self.rollout).is_some();
            let (object, uid, since) = (object.title(), object.uid.clone(), self.now());
            if let Some(became) = self.status.converted_counts.get_mut(&wave).filter(|_| target.is_some()) {
                *became = became.saturating_sub(1);
            }
            // If the annotation is restored, it contains the step of the Job.
            let (job, tried) = (None, self.status.lost_job(&uid, &wave).filter(|_| back).cloned());
            let (may_come, writes) = (None, None);
            let in_flight_object = InFlightObject {
                object,
                uid,
                since,
                back,
                wave,
                attempt,
                marked,
                may_come,
                job,
                tried,
                target,
                writes,
            };
            self.status.in_flight.push(in_flight_object);
        }
    }

    pub(crate) fn end(&mut self, phase: RolloutPhase, reason: Option<&str>) {
        self.status.phase = phase;
        self.status.reason = reason.map(str::to_owned);
        (self.status.wave_done, self.status.wave_since) = (None, None);
        // The requested recheck is complete.
        self.status.recheck_requested = false;
        if self.was_over {
            return;
        }
        let state = if phase == RolloutPhase::Complete { "Complete" } else { "Partial" };
        let risk = self.rollout.accepts(NO_WAY_BACK) && self.rollout.no_way_back().is_some();
        let steps = self.rollout.irreversible().into_iter().map(|(name, _)| name);
        self.status.history.push(HistoryEntry {
            state: state.to_owned(),
            direction: self.status.direction,
            started: self.status.started.clone(),
            ended: self.now(),
            accepted: risk.then_some(NO_WAY_BACK).into_iter().chain(steps).map(str::to_owned).collect(),
        });
        let more = self.status.history.len().saturating_sub(HISTORY);
        self.status.history.drain(..more);
    }
}

/// The refused upgrades by source version; a fleet has few versions.
fn refused_upgrades<'a>(rollout: &Rollout, fleet: &'a [FleetObject]) -> BTreeMap<&'a str, Option<String>> {
    let is_of_it = |object: &&FleetObject| rollout.from.is_none() || object.version == rollout.from;
    let versions: BTreeSet<&str> = fleet.iter().filter(is_of_it).filter_map(FleetObject::version).collect();
    versions.into_iter().map(|version| (version, rollout.hop_refused(version, &rollout.to))).collect()
}

/// Maximum number of history entries.
const HISTORY: usize = 10;

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RolloutWrite {
    /// The whole status of the StagedRollout, with the resourceVersion that was read: writes of a runner that lost the
    /// rollout are refused.
    Status(Box<RolloutStatus>),
    /// The move of an object.
    Move(ObjectPatch),
    /// A Job of a step. An existing Job of that name is the intended one.
    Job(Box<JobWrite>),
    /// A step's write of another object.
    Object(Box<ObjectWrite>),
    /// Holds an object until its turn, or releases it.
    Hold(ObjectPatch),
    /// A move as dry run, to check whether it is still refused. The result is recorded in [`crate::RunnerCache`].
    Try(ObjectPatch),
}

impl RolloutWrite {
    /// The uid of its fleet object; `None` for a status.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Status(_) => None,
            Self::Move(one) | Self::Hold(one) | Self::Try(one) => Some(&one.uid),
            Self::Job(one) => Some(&one.uid),
            Self::Object(one) => Some(&one.uid),
        }
    }
}
