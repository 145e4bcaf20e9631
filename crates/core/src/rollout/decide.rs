//! What is decided, in its order.

use super::advance::{advance, go_back, stop};
use super::object_steps::note_refused_ahead;
use super::complete::{release, remember};
use super::failure::{look_for_unhealthy, note_failures, note_turned_back, note_two_controllers};
use super::fleet_rollout::Direction;
use super::hold::holds_first;
use super::planner::Planner;
use super::rollback::{note_changed, note_stored, turn, turns};
use super::start::{overlaps, start_refusals};
use super::status::{ANNOTATION_REMOVED, RolloutFailure, RolloutPhase, RolloutStatus};
use super::workflow_plan::{note_jobs, note_runs};

/// Everything but words and counts.
pub(super) fn decide(planner: &mut Planner<'_>) {
    if !begins(planner) {
        return;
    }
    note_jobs(planner);
    planner.look_at_checks();
    if turns(planner) && !planner.facts.consistent {
        // What a cache does not know yet would be taken for what was never moved.
        planner.ask_for_list();
        return;
    }
    turn(planner);
    if planner.status.is_over() && !looks_for_left(planner) {
        planner.rests = true;
        return;
    }
    note_changed(planner);
    note_stored(planner);
    note_runs(planner);
    note_refused_ahead(planner);
    remember(planner);
    release(planner);
    note_turned_back(planner);
    note_two_controllers(planner);
    note_failures(planner);
    if turns(planner) && !planner.facts.consistent {
        planner.ask_for_list();
        return;
    }
    if turns(planner) && planner.rollout.has_steps() {
        // Nobody has asked yet for Jobs that may run though their objects say nothing of them: the next plan turns.
        return;
    }
    turn(planner);
    let standings = planner.standings();
    look_for_unhealthy(planner, &standings);
    if planner.is_stopped() {
        // What comes meanwhile is held as well, and who is not to hold any more waits for nobody to let go.
        if !planner.rollout.hold || planner.status.direction == Direction::Forward {
            holds_first(planner, &standings);
        }
        return;
    }
    match planner.status.direction {
        Direction::Forward => advance(planner, &standings),
        Direction::Undo => go_back(planner, &standings),
        Direction::Abort => stop(planner),
    }
}

/// Whether a rollout that was taken back looks again for the objects that it left: somebody may have mended them since.
fn looks_for_left(planner: &mut Planner<'_>) -> bool {
    if !planner.status.looks_for_left() || !planner.facts.consistent {
        return false;
    }
    (planner.status.phase, planner.status.reason) = (RolloutPhase::Rolling, None);
    planner.was_over = true;
    // What is there no more is not left.
    let (fleet, failures) = (planner.fleet, &mut planner.status.failures);
    let is_there = |known: &RolloutFailure| fleet.iter().any(|object| object.uid == known.uid);
    failures.retain(|known| known.reason != ANNOTATION_REMOVED || is_there(known));
    true
}

/// Whether the rollout has begun, or does now.
fn begins(planner: &mut Planner<'_>) -> bool {
    if planner.status.started.is_some() {
        return planner.facts.others.is_empty() || {
            // Another one has begun at the same moment: whoever sees that gives way, before it has moved anything.
            let message = overlaps(&planner.facts).join("; ");
            planner.status = RolloutStatus { phase: RolloutPhase::Refused, message, ..RolloutStatus::default() };
            false
        };
    }
    let mut refusals = start_refusals(planner.rollout, planner.fleet, &planner.facts);
    refusals.extend(unfrozen(planner));
    let (phase, message) = match (refusals.is_empty(), planner.rollout.direction) {
        (_, Direction::Abort | Direction::Undo) => (RolloutPhase::Aborted, "nothing was moved".to_owned()),
        (false, _) => (RolloutPhase::Refused, refusals.join("; ")),
        (true, Direction::Forward) => {
            planner.status.started = Some(planner.now());
            planner.status.phase = RolloutPhase::Rolling;
            // What tells how far it is says that it has begun before anything else is done.
            planner.told = planner.rollout.tells_states.then(|| planner.rollout.started.clone());
            return planner.told.is_none();
        }
    };
    (planner.status.phase, planner.status.message, planner.status.reason) = (phase, message, None);
    false
}

/// What is to be frozen has to be so before the first object moves.
fn unfrozen(planner: &Planner<'_>) -> Option<String> {
    let (why, name) = (planner.facts.unfrozen.as_ref()?, planner.rollout.name());
    Some(format!("what it freezes would not be frozen: {why}: pointsman rollout policies {name} | kubectl apply -f -"))
}
