//! The next writes of a rollout.

use super::advance::{advance, holds_first, stop, undo_next};
use super::complete::{release, remember};
use super::failure::{note_failures, note_two_controllers, pause_if_unhealthy, record_reset_labels};
use super::object_move::{Moves, moves, note_records, tries};
use super::object_steps::{note_refused_ahead, refusal_writes};
use super::planner::{Planner, RolloutWrite};
use super::rollback::{changes_direction, note_changed, note_stored, turn};
use super::start::{overlaps, start_refusals};
use super::workflow_plan::{gap_writes, note_jobs, note_runs, note_tried, refused_on_the_way, runs, step_writes};
use crate::evaluate::message::described;
use crate::evaluate::object_state::ObjectState;
use crate::evaluate::running_range::{RunningRange, running_range};
use crate::observe::facts::{PlanInput, RunnerCache};
use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::ClockReading;
use crate::observe::status::{ANNOTATION_REMOVED, InFlightObject, RolloutFailure, RolloutPhase, RolloutStatus};
use crate::spec::rollout::{Direction, Rollout};
use crate::spec::versions::VersionRange;
use crate::steps::objects::converted_source::{converted_sources, note_left, returned};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The next writes, and the state of the fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RolloutPlan {
    /// In this order. Writes that close a gap ([`crate::ObjectWrite::closes_gap`]) are first and independent. If
    /// another write fails, the rest must not be written: moved objects must be listed as in flight.
    pub writes: Vec<RolloutWrite>,
    /// The status, written or not.
    pub status: RolloutStatus,
    /// The state of each object, in fleet order.
    pub object_states: Vec<ObjectState>,
    /// Input for the next plan of this run.
    pub runner_cache: RunnerCache,
    /// True if the next plan needs a consistent list of the whole fleet.
    pub wants_list: bool,
    /// True if a move only waits for time to pass: its controller wrote the object in this second.
    pub defers: bool,
}

impl RolloutPlan {
    /// Objects with decisions that no patch precondition protects, by uid: objects that are released, change direction,
    /// fail or take a step, and objects whose recorded field manager entries change: an earlier rollback may already
    /// have succeeded with the other record. Unless the fleet was just listed, the runner must read them again before
    /// it writes, and plan again if one changed. `before` is the status of the plan's input. A label move is excluded:
    /// the preconditions of its patch cover its input.
    #[must_use]
    pub fn judged<'a>(&'a self, rollout: &Rollout, before: &'a RolloutStatus) -> BTreeSet<&'a str> {
        let after = &self.status;
        let known = |uid: &str, at: &str| before.failures.iter().any(|known| known.uid == uid && known.at == at);
        let failed = after.failures.iter().filter(|failure| !known(&failure.uid, &failure.at));
        let continues =
            |one: &InFlightObject| after.in_flight.iter().any(|next| next.uid == one.uid && next.back == one.back);
        let released = before.in_flight.iter().filter(|one| !continues(one));
        let has_other_record =
            |one: &InFlightObject| after.in_flight.iter().any(|next| next.uid == one.uid && next.writes != one.writes);
        let recorded = before.in_flight.iter().filter(|one| one.writes.is_some() && has_other_record(one));
        let steps = self.writes.iter().filter_map(|write| match write {
            RolloutWrite::Job(one) => Some(one.uid.as_str()),
            // Independent of all lookups.
            RolloutWrite::Object(one) if one.closes_gap() => None,
            RolloutWrite::Object(one) => Some(one.uid.as_str()),
            RolloutWrite::Move(one) => rollout.has_workflows().then_some(one.uid.as_str()),
            RolloutWrite::Status(_) | RolloutWrite::Try(_) | RolloutWrite::Hold(_) => None,
        });
        let failed = failed.map(|failure| failure.uid.as_str());
        failed.chain(released.chain(recorded).map(|one| one.uid.as_str())).chain(steps).collect()
    }
}

/// Computes the next writes. Depends only on its arguments: equal arguments give equal plans.
#[must_use]
pub fn plan(
    rollout: &Rollout,
    status: &RolloutStatus,
    fleet: &[FleetObject],
    facts: PlanInput,
    now: ClockReading,
) -> RolloutPlan {
    let (seen, before) = (fleet.len(), returned(rollout, status, fleet));
    let more: Vec<FleetObject> =
        runs(rollout, status).into_iter().chain(converted_sources(rollout, status, fleet, &facts.answers)).collect();
    let with_more: Cow<'_, [FleetObject]> =
        if more.is_empty() { Cow::Borrowed(fleet) } else { Cow::Owned(fleet.iter().cloned().chain(more).collect()) };
    let mut planner = Planner::new(rollout, before.clone().into_owned(), &with_more, facts, now);
    decide(&mut planner);
    note_left(&mut planner.status, &before);
    planner.in_the_way.refused = refused_on_the_way(&planner);
    let mut object_states = planner.object_states();
    let Moves { writes: moves, records, defers } = moves(&planner);
    note_records(&mut planner, records);
    let view = planner.view(&object_states);
    let (steps, tries) = (step_writes(&planner), tries(&planner, &view));
    let gaps = gap_writes(&planner);
    let quiet = planner.is_inactive || planner.facts.trouble.is_some();
    let holds = if quiet { Vec::new() } else { planner.holds.clone() };
    let next = if planner.is_inactive {
        status.clone()
    } else {
        let RunningRange { whole, parts } = running_range(&view, status, &planner.facts);
        let described_status = described(&view, &planner.in_the_way, planner.pending_state.as_deref());
        let (lowest, highest) = whole.map(|VersionRange { lowest, highest }| (lowest, highest)).unzip();
        let mut next = RolloutStatus { lowest, highest, parts, ..described_status };
        next.observe(rollout.generation, now);
        next
    };
    let refusals = refusal_writes(&mut planner);
    note_tried(&mut planner);
    object_states.truncate(seen);
    let reserved = (next != *status).then(|| RolloutWrite::Status(Box::new(next.clone())));
    let moves = moves
        .into_iter()
        .map(RolloutWrite::Move)
        .chain(steps)
        .chain(refusals)
        .chain(tries.into_iter().map(RolloutWrite::Try));
    let holds = holds.into_iter().map(RolloutWrite::Hold);
    let writes = gaps.into_iter().chain(reserved).chain(moves).chain(holds).collect();
    let (runner_cache, wants_list) = (planner.facts.runner_cache, planner.wants_list);
    RolloutPlan { writes, status: next, object_states, runner_cache, wants_list, defers }
}

/// All decisions, without messages and counts.
pub(crate) fn decide(planner: &mut Planner<'_>) {
    if !begins(planner) {
        return;
    }
    note_jobs(planner);
    planner.evaluate_checks();
    if changes_direction(planner) && !planner.facts.consistent {
        // A stale cache would make moved objects appear unmoved.
        planner.request_list();
        return;
    }
    turn(planner);
    if planner.status.is_over() && !rechecks_skipped(planner) {
        planner.is_inactive = true;
        return;
    }
    note_changed(planner);
    note_stored(planner);
    note_runs(planner);
    note_refused_ahead(planner);
    remember(planner);
    release(planner);
    record_reset_labels(planner);
    note_two_controllers(planner);
    note_failures(planner);
    if changes_direction(planner) && !planner.facts.consistent {
        planner.request_list();
        return;
    }
    if changes_direction(planner) && planner.rollout.has_steps() {
        // A Job can run for an object that has lost its annotation. This plan has no lookups of such Jobs, so the next
        // plan changes the direction.
        return;
    }
    // The facts above may have changed the direction, such as by `onFailure: UndoAll`.
    turn(planner);
    let object_states = planner.object_states();
    pause_if_unhealthy(planner, &object_states);
    if planner.is_stopped() {
        // New objects are held during a pause too. With `hold` turned off, existing holds are released.
        if !planner.rollout.hold || planner.status.direction == Direction::Forward {
            holds_first(planner, &object_states);
        }
        return;
    }
    match planner.status.direction {
        Direction::Forward => advance(planner, &object_states),
        Direction::Undo => undo_next(planner, &object_states),
        Direction::Abort => stop(planner),
    }
}

/// True if a finished undo checks skipped objects again: they may have been repaired.
fn rechecks_skipped(planner: &mut Planner<'_>) -> bool {
    if !planner.status.rechecks_skipped() || !planner.facts.consistent {
        return false;
    }
    (planner.status.phase, planner.status.reason) = (RolloutPhase::Rolling, None);
    planner.was_over = true;
    // A deleted object is no longer skipped.
    let (fleet, failures) = (planner.fleet, &mut planner.status.failures);
    let is_there = |known: &RolloutFailure| fleet.iter().any(|object| object.uid == known.uid);
    failures.retain(|known| known.reason != ANNOTATION_REMOVED || is_there(known));
    true
}

/// True if the rollout has begun, or begins now.
fn begins(planner: &mut Planner<'_>) -> bool {
    if planner.status.started.is_some() {
        return planner.facts.others.is_empty() || {
            // Another rollout started at the same time. The runner fills `others` only for the start and for the first
            // plan after it, so no object is in flight, and this rollout yields with an empty status.
            let message = overlaps(&planner.facts).join("; ");
            planner.status = RolloutStatus { phase: RolloutPhase::Refused, message, ..RolloutStatus::default() };
            false
        };
    }
    let mut refusals = start_refusals(planner.rollout, planner.fleet, &planner.facts);
    refusals.extend(unfrozen(planner));
    let (phase, message) = match (refusals.is_empty(), planner.rollout.direction) {
        (_, Direction::Abort | Direction::Undo) => (RolloutPhase::Aborted, "no object was moved".to_owned()),
        (false, _) => (RolloutPhase::Refused, refusals.join("; ")),
        (true, Direction::Forward) => {
            planner.status.started = Some(planner.now());
            planner.status.phase = RolloutPhase::Rolling;
            // The state label reports the start before anything else happens.
            planner.pending_state = planner.rollout.writes_state_labels.then(|| planner.rollout.started.clone());
            return planner.pending_state.is_none();
        }
    };
    (planner.status.phase, planner.status.message, planner.status.reason) = (phase, message, None);
    false
}

/// The freeze must be in force before the first object moves.
fn unfrozen(planner: &Planner<'_>) -> Option<String> {
    let (why, name) = (planner.facts.unfrozen.as_ref()?, planner.rollout.name());
    Some(format!("the freeze would have no effect: {why}: run pointsman rollout policies {name} | kubectl apply -f -"))
}
