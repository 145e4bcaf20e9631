//! Changes of direction, and their effect on objects in flight.

use serde_json::Value;

use super::planner::Planner;
use super::workflow_plan::{may_run, redirected};
use crate::evaluate::rewrite::{not_stored, seen_crd};
use crate::observe::moment::wall;
use crate::observe::status::{ANNOTATION_REMOVED, CHANGED, CrdSnapshot, RolloutPhase};
use crate::spec::rollout::Direction;
use crate::steps::steps_digest::{ComparedSteps, compare, digest_of_steps};

pub(crate) fn changes_direction(planner: &Planner<'_>) -> bool {
    wanted(planner) != planner.status.direction
}

/// Changes to the direction in the StagedRollout.
pub(crate) fn turn(planner: &mut Planner<'_>) {
    let wanted = wanted(planner);
    if !changes_direction(planner) {
        return;
    }
    let evaluator = planner.evaluator();
    let landed: Vec<bool> = planner
        .status
        .in_flight
        .iter()
        .map(|in_flight_object| {
            planner
                .object(&in_flight_object.uid)
                .is_some_and(|object| evaluator.is_move_observed(object, in_flight_object))
        })
        .collect();
    planner.status.attempt += u32::from(planner.rollout.waves.iter().any(|wave| wave.workflow.is_some()));
    let mut reserved = Vec::new();
    for (mut in_flight_object, landed) in std::mem::take(&mut planner.status.in_flight).into_iter().zip(landed) {
        if let Some(context) = planner.context(&in_flight_object) {
            let uid = in_flight_object.uid.clone();
            reserved.extend(redirected(planner, context, in_flight_object, wanted));
            planner.facts.runner_cache.healthy.remove(&uid);
            continue;
        }
        let is_absent = planner.object(&in_flight_object.uid).is_none();
        if is_absent && (planner.rollout.pair.is_some() || may_run(planner, &in_flight_object)) {
            // A replacement is detected at release.
            reserved.push(in_flight_object);
            continue;
        }
        let changes_direction = match wanted {
            Direction::Undo => !in_flight_object.back && landed,
            Direction::Forward | Direction::Abort => in_flight_object.back && !landed,
        };
        if changes_direction {
            in_flight_object.back = !in_flight_object.back;
            in_flight_object.since = planner.now();
            planner.facts.runner_cache.healthy.remove(&in_flight_object.uid);
        }
        // An unwritten move needs no wait.
        if changes_direction || landed || (in_flight_object.back && wanted == Direction::Undo) {
            reserved.push(in_flight_object);
        }
    }
    planner.status.in_flight = reserved;
    planner.status.direction = wanted;
    planner.status.halted = None;
    // Lost annotations stay recorded until an operator has checked them or the rollout begins again.
    planner.status.failures.retain(|failure| failure.reason != ANNOTATION_REMOVED || wanted != Direction::Forward);
    planner
        .status
        .failures
        .iter_mut()
        .filter(|failure| failure.reason != ANNOTATION_REMOVED)
        .for_each(|one| one.cleared = true);
    let status = &mut planner.status;
    (status.wave, status.wave_since, status.wave_done, status.before) = (None, None, None, false);
    // Approvals applied to another fleet than the one that moves next.
    (status.approved, status.approved_before) = (Vec::new(), Vec::new());
    if planner.status.is_over() {
        planner.status.started = Some(planner.now());
    }
    planner.status.phase = RolloutPhase::Rolling;
}

/// Pauses if the workflows differ from those at the start: the counted steps are ambiguous.
pub(crate) fn note_changed(planner: &mut Planner<'_>) {
    if !planner.rollout.has_steps() {
        return;
    }
    let now = digest_of_steps(planner.rollout);
    match compare(planner.status.steps.as_deref(), &now) {
        ComparedSteps::Changed => planner.halt(
            CHANGED,
            "the workflows have changed since the start of the rollout: restore the definition and the waves. \
                 pointsman rollout resume continues with the current workflows, from the progress of each object"
                .to_owned(),
        ),
        ComparedSteps::Same | ComparedSteps::Unknown => planner.status.steps = Some(now),
    }
}

/// Records the CRD of a storage migration, and pauses if it changed.
pub(crate) fn note_stored(planner: &mut Planner<'_>) {
    let (rollout, answers) = (planner.rollout, &planner.facts.answers);
    let Some(Ok(crd)) = seen_crd(rollout, answers) else { return };
    let uid = crd.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    let generation = crd.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    let is_fine = not_stored(rollout, answers).is_none() && planner.status.direction == Direction::Forward;
    let since = planner.now();
    match &mut planner.status.stored {
        Some(before) if (before.uid.as_str(), before.generation) != (uid.as_str(), generation) => {
            let name = rollout.stores.as_deref().unwrap_or_default();
            let message = format!(
                "the CRD {name} has changed since the first object was rewritten: later objects may be stored \
                     in another version. pointsman rollout resume continues with the remaining objects; pointsman \
                     migrate finds the others afterwards"
            );
            planner.halt(CHANGED, message);
        }
        // The recorded time is from a fast clock.
        Some(before) if wall(&before.since).is_none_or(|written| written > planner.now.wall) => before.since = since,
        Some(_) => {}
        None if is_fine => planner.status.stored = Some(CrdSnapshot { uid, generation, since }),
        None => {}
    }
}

/// The direction of the fleet.
fn wanted(planner: &Planner<'_>) -> Direction {
    planner.status.direction_of(planner.rollout)
}
