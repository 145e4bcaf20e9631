//! Decisions of a plan, in order.

use super::advance::{advance, stop, undo_next};
use super::complete::{release, remember};
use super::failure::{note_failures, note_two_controllers, pause_if_unhealthy, record_reset_labels};
use super::hold::holds_first;
use super::object_steps::note_refused_ahead;
use super::planner::Planner;
use super::rollback::{changes_direction, note_changed, note_stored, turn};
use super::start::{overlaps, start_refusals};
use super::workflow_plan::{note_jobs, note_runs};
use crate::observe::status::{ANNOTATION_REMOVED, RolloutFailure, RolloutPhase, RolloutStatus};
use crate::spec::rollout::Direction;

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
