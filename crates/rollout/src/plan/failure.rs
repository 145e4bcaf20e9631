//! Failures of a fleet, and their reports in the StagedRollout.

use super::planner::Planner;
use super::workflow_plan::{gap, job_under_way, turn_back};
use crate::evaluate::message::some;
use crate::evaluate::object_state::ObjectState;
use crate::observe::fleet_object::FleetObject;
use crate::observe::status::{ANNOTATION_REMOVED, HELD, InFlightObject, RolloutFailure, TIMED_OUT};
use crate::spec::rollout::{Direction, OnFailure, Rollout};

/// Pauses if another client resets the label of a moved object: its intention is unknown.
pub(crate) fn record_reset_labels(planner: &mut Planner<'_>) {
    if planner.status.direction != Direction::Forward {
        return;
    }
    let known =
        |object: &FleetObject| planner.status.failures.iter().any(|one| one.uid == object.uid && one.reason == HELD);
    let redirected: Vec<&FleetObject> = planner
        .fleet
        .iter()
        .filter(|object| {
            let is_ours = object.annotation_of(planner.rollout).is_some()
                && !object.is_terminating
                && object.object_progress.is_none();
            is_ours
                && !object.is_at(&planner.rollout.to)
                && planner.status.in_flight_object(&object.uid).is_none_or(|one| !one.back)
                && !known(object)
        })
        .collect();
    // Reports only a few objects, since a status must fit into etcd. The others are not moved again either: before a
    // resume, the operator has seen enough examples.
    let room = FAILURES.saturating_sub(planner.status.failures.len());
    let more = redirected.len().saturating_sub(1);
    for object in redirected.into_iter().take(room) {
        let by = object.owner.as_deref().unwrap_or("another client");
        let now = object.version.as_deref().unwrap_or("no version");
        let message =
            format!("{}: {by} reverted the object to {now} after its move to {}", object.title(), planner.rollout.to);
        planner.status.failures.push(failure(planner, object, HELD, message.clone()));
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        planner.halt(HELD, message + &more);
    }
}

/// Pauses if the old controller still writes to a moved object: the new controller does not expect these writes.
pub(crate) fn note_two_controllers(planner: &mut Planner<'_>) {
    let evaluator = planner.evaluator();
    let is_ours = |object: &&FleetObject| object.annotation_of(planner.rollout).is_some() && !object.is_terminating;
    let room = FAILURES.saturating_sub(planner.status.failures.len());
    let contested =
        planner.fleet.iter().filter(is_ours).filter_map(|object| Some((object, evaluator.contested(object)?)));
    let contested: Vec<(&FleetObject, String)> =
        contested.filter(|(object, _)| planner.status.failure(&object.uid).is_none()).take(room).collect();
    for (object, why) in contested {
        let failure = failure(planner, object, TWO_CONTROLLERS, why.clone());
        planner.status.failures.push(failure);
        planner.halt(TWO_CONTROLLERS, format!("{}: {why}", object.title()));
    }
}

/// A failed object.
struct Failing<'f> {
    object: &'f FleetObject,
    back: bool,
    reason: &'static str,
    why: String,
    /// True if it can be rolled back.
    can_revert: bool,
}

/// In-flight objects with a new failure.
fn failing<'a>(planner: &Planner<'a>) -> Vec<Failing<'a>> {
    let evaluator = planner.evaluator();
    let mut failed = Vec::new();
    for in_flight_object in &planner.status.in_flight {
        let Some(object) = planner.object(&in_flight_object.uid) else { continue };
        // A lost annotation does not predict later results.
        let known = planner.status.failure(&object.uid).filter(|known| known.reason != ANNOTATION_REMOVED);
        let back = in_flight_object.back;
        if let Some(context) = planner.context(in_flight_object) {
            let found_failure =
                evaluator.failed(context, in_flight_object).filter(|_| known.is_none_or(|known| known.back));
            let can_revert = context.can_revert(in_flight_object) && !object.is_terminating;
            failed.extend(found_failure.map(|(reason, why)| {
                let why = format!("wave {}, {why}", in_flight_object.wave);
                Failing { object, back, reason, why, can_revert }
            }));
            continue;
        }
        if let ObjectState::Failed(why) = evaluator.object_state(object, Some(in_flight_object))
            && known.is_none_or(|known| {
                known.back && (object.is_terminating || evaluator.is_move_observed(object, in_flight_object))
            })
        {
            let why = format!("{}: {why}", label_change(planner.rollout, object, back));
            let can_revert = object.annotation_of(planner.rollout).is_some() && !object.is_terminating;
            failed.push(Failing { object, back, reason: TIMED_OUT, why, can_revert });
        }
    }
    failed
}

/// The change of the version label, forward or back.
fn label_change(rollout: &Rollout, object: &FleetObject, back: bool) -> String {
    let label = &rollout.label;
    // The annotation holds the source version until the object is restored.
    let was = object.annotation_of(rollout).map_or_else(|| object.version(), |mark| mark.was.as_deref());
    match was {
        _ if !back => format!("label {label} to {}", rollout.to),
        Some(was) => format!("label {label} back to {was}"),
        None => format!("label {label} taken off again"),
    }
}

/// Clears failures that were repaired during the pause, so that a resume does not repeat their steps.
fn note_repaired(planner: &mut Planner<'_>) {
    let evaluator = planner.evaluator();
    let is_repaired = |in_flight_object: &&InFlightObject| {
        let context = planner.context(in_flight_object);
        context.is_some_and(|context| evaluator.failed(context, in_flight_object).is_none())
    };
    let repaired = planner.status.in_flight.iter().filter(is_repaired).map(|one| one.uid.clone());
    let repaired: Vec<String> = repaired.collect();
    for failure in planner
        .status
        .failures
        .iter_mut()
        .filter(|one| one.reason != ANNOTATION_REMOVED && !one.back && repaired.contains(&one.uid))
    {
        failure.cleared = true;
    }
}

/// Records objects that are not healthy in time, and reacts.
pub(crate) fn note_failures(planner: &mut Planner<'_>) {
    note_repaired(planner);
    let failed = failing(planner);
    note_failed(planner, &failed);
    if planner.status.direction == Direction::Abort && planner.rollout.has_steps() {
        leave_failed(planner);
    }
}

/// Records new failures, and reacts as the StagedRollout specifies.
fn note_failed(planner: &mut Planner<'_>, failed: &[Failing<'_>]) {
    let Some(Failing { object: first, why, reason, .. }) = failed.first() else { return };
    let reason = *reason;
    let more = failed.len() - 1;
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let message = format!("{}: {why}{more}", first.title());
    let back = planner.status.direction == Direction::Undo || failed.iter().any(|one| one.back);
    for Failing { object, why, reason, .. } in failed {
        let failure = failure(planner, object, reason, why.clone());
        // Lost annotations and cleared failures stay recorded.
        let stays =
            |known: &RolloutFailure| known.reason == ANNOTATION_REMOVED || (known.reason == HELD && known.cleared);
        planner.status.failures.retain(|known| known.uid != object.uid || (known.reason != *reason && stays(known)));
        planner.status.failures.push(failure);
    }
    if planner.status.direction == Direction::Abort && planner.rollout.has_steps() {
        return turn_failed(planner, failed);
    }
    let can_revert = failed.iter().all(|one| one.can_revert);
    let many = planner.status.failures.len() >= FAILURES;
    match planner.rollout.on_failure {
        _ if back || many || planner.status.direction == Direction::Abort || !can_revert => {
            planner.halt(reason, message);
        }
        OnFailure::Pause => planner.halt(reason, message),
        OnFailure::UndoAll => planner.status.undo_all = true,
        OnFailure::Undo => {
            let uids: Vec<&str> = failed.iter().map(|one| one.object.uid.as_str()).collect();
            take_back(planner, &uids);
        }
    }
}

/// Rolls failed objects back.
fn take_back(planner: &mut Planner<'_>, uids: &[&str]) {
    let is_of = |one: &RolloutFailure| one.reason != ANNOTATION_REMOVED && uids.contains(&one.uid.as_str());
    planner.status.failures.iter_mut().filter(|one| is_of(one)).for_each(|failure| failure.back = true);
    let mut reserved = planner.status.in_flight.clone();
    reserved.iter_mut().filter(|one| uids.contains(&one.uid.as_str())).for_each(|one| turn_back(planner, one));
    planner.status.in_flight = reserved;
}

/// An abort cannot be resumed: rolls failed objects back as far as possible.
fn turn_failed(planner: &mut Planner<'_>, failed: &[Failing<'_>]) {
    let to_turn: Vec<&str> = failed.iter().filter(|one| !one.back).map(|one| one.object.uid.as_str()).collect();
    take_back(planner, &to_turn);
}

/// Releases objects that fail during their rollback in an abort; the final message lists them. Keeps objects deleted
/// for a replacement that is still missing, and objects that a Job may change: these would not be monitored later.
fn leave_failed(planner: &mut Planner<'_>) {
    let evaluator = planner.evaluator();
    let is_left = |in_flight_object: &InFlightObject| {
        let failed = planner.fails(&in_flight_object.uid);
        let Some(object) = planner.object(&in_flight_object.uid).filter(|_| in_flight_object.back && failed) else {
            return false;
        };
        match planner.context(in_flight_object) {
            Some(context) => {
                // Effects of a Job that could not be recorded would be missed by any rollback.
                let is_known = context.seen_job(in_flight_object).is_none_or(|job| job.back)
                    || object.lost_annotation(planner.rollout).is_some();
                let fails = is_known && evaluator.failed(context, in_flight_object).is_some();
                fails && job_under_way(planner, in_flight_object).is_none() && gap(planner, in_flight_object).is_none()
            }
            None => matches!(evaluator.object_state(object, Some(in_flight_object)), ObjectState::Failed(_)),
        }
    };
    let left: Vec<String> =
        planner.status.in_flight.iter().filter(|one| is_left(one)).map(|one| one.uid.clone()).collect();
    planner.status.in_flight.retain(|one| !left.contains(&one.uid));
}

/// Pauses if too many objects outside of the in-flight set are unhealthy: the fleet has another problem. During an
/// undo, moved objects count as its cause and are skipped.
pub(crate) fn pause_if_unhealthy(planner: &mut Planner<'_>, object_states: &[ObjectState]) {
    // A recheck of a finished rollout moves only objects that are in flight by it.
    let is_over = planner.was_over && planner.status.in_flight.is_empty();
    if planner.status.direction == Direction::Abort || planner.status.halted.is_some() || is_over {
        return;
    }
    let unhealthy = planner.view(object_states).unhealthy();
    let most = planner.rollout.max_unhealthy;
    if unhealthy.len() > most {
        let message = format!(
            "{} objects are not healthy, and more than {most} must not be: {}",
            unhealthy.len(),
            some(&unhealthy)
        );
        planner.halt("Unhealthy", message);
    }
}

fn failure(planner: &Planner<'_>, object: &FleetObject, reason: &str, message: String) -> RolloutFailure {
    RolloutFailure::of((&object.title(), &object.uid), reason, message, planner.now())
}

/// Failure reason: the old controller still writes to a moved object.
const TWO_CONTROLLERS: &str = "TwoControllers";

/// Maximum number of failures in a status, which must stay small.
const FAILURES: usize = 50;
