//! Failures of a fleet, and their reports in the StagedRollout.

use super::fleet_object::FleetObject;
use super::fleet_rollout::{Direction, OnFailure, Rollout};
use super::message::some;
use super::object_state::ObjectState;
use super::planner::Planner;
use super::status::{ANNOTATION_REMOVED, HELD, InFlightObject, RolloutFailure, TIMED_OUT};
use super::workflow_plan::{gap, job_under_way, turn_back};

/// Pauses if another client resets the label of a moved object: its intention is unknown.
pub(super) fn note_turned_back(planner: &mut Planner<'_>) {
    if planner.status.direction != Direction::Forward {
        return;
    }
    let known =
        |object: &FleetObject| planner.status.failures.iter().any(|one| one.uid == object.uid && one.reason == HELD);
    let turned: Vec<&FleetObject> = planner
        .fleet
        .iter()
        .filter(|object| {
            let is_ours = object.mark_of(planner.rollout).is_some() && !object.is_going && object.legs.is_none();
            is_ours
                && !object.is_at(&planner.rollout.to)
                && planner.status.reservation(&object.uid).is_none_or(|one| !one.back)
                && !known(object)
        })
        .collect();
    // Reports only a few objects, since a status must fit into etcd. The others are not moved again either: an operator
    // who resumes the rollout has seen enough examples.
    let room = FAILURES.saturating_sub(planner.status.failures.len());
    let more = turned.len().saturating_sub(1);
    for object in turned.into_iter().take(room) {
        let by = object.owner.as_deref().unwrap_or("somebody");
        let now = object.version.as_deref().unwrap_or("no version");
        let message =
            format!("{}: {by} turned it back to {now} after it was moved to {}", object.title(), planner.rollout.to);
        planner.status.failures.push(failure(planner, object, HELD, message.clone()));
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        planner.halt(HELD, message + &more);
    }
}

/// Pauses if the old controller still writes to a moved object: the new controller does not expect these writes.
pub(super) fn note_two_controllers(planner: &mut Planner<'_>) {
    let judge = planner.judge();
    let is_ours = |object: &&FleetObject| object.mark_of(planner.rollout).is_some() && !object.is_going;
    let room = FAILURES.saturating_sub(planner.status.failures.len());
    let contested = planner.fleet.iter().filter(is_ours).filter_map(|object| Some((object, judge.contested(object)?)));
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
    can_go: bool,
}

/// In-flight objects with a new failure.
fn failing<'a>(planner: &Planner<'a>) -> Vec<Failing<'a>> {
    let judge = planner.judge();
    let mut failed = Vec::new();
    for reservation in &planner.status.in_flight {
        let Some(object) = planner.object(&reservation.uid) else { continue };
        // A lost annotation does not predict later results.
        let known = planner.status.failure(&object.uid).filter(|known| known.reason != ANNOTATION_REMOVED);
        let back = reservation.back;
        if let Some(traveller) = planner.traveller(reservation) {
            let told = judge.failed(traveller, reservation).filter(|_| known.is_none_or(|known| known.back));
            let can_go = traveller.can_go_back(reservation) && !object.is_going;
            failed.extend(told.map(|(reason, why)| {
                let why = format!("wave {}, {why}", reservation.wave);
                Failing { object, back, reason, why, can_go }
            }));
            continue;
        }
        if let ObjectState::Failed(why) = judge.standing(object, Some(reservation))
            && known.is_none_or(|known| known.back && (object.is_going || judge.has_landed(object, reservation)))
        {
            let why = format!("{}: {why}", told_way(planner.rollout, object, back));
            let can_go = object.mark_of(planner.rollout).is_some() && !object.is_going;
            failed.push(Failing { object, back, reason: TIMED_OUT, why, can_go });
        }
    }
    failed
}

/// The change of the version label, forward or back.
fn told_way(rollout: &Rollout, object: &FleetObject, back: bool) -> String {
    let label = &rollout.label;
    // The annotation holds the source version until the object is restored.
    let was = object.mark_of(rollout).map_or_else(|| object.version(), |mark| mark.was.as_deref());
    match was {
        _ if !back => format!("label {label} to {}", rollout.to),
        Some(was) => format!("label {label} back to {was}"),
        None => format!("label {label} taken off again"),
    }
}

/// Clears failures that were repaired during the pause, so that a resume does not repeat their steps.
fn note_mended(planner: &mut Planner<'_>) {
    let judge = planner.judge();
    let is_mended = |reservation: &&InFlightObject| {
        let traveller = planner.traveller(reservation);
        traveller.is_some_and(|traveller| judge.failed(traveller, reservation).is_none())
    };
    let mended = planner.status.in_flight.iter().filter(is_mended).map(|one| one.uid.clone());
    let mended: Vec<String> = mended.collect();
    for failure in planner
        .status
        .failures
        .iter_mut()
        .filter(|one| one.reason != ANNOTATION_REMOVED && !one.back && mended.contains(&one.uid))
    {
        failure.cleared = true;
    }
}

/// Records objects that are not healthy in time, and reacts.
pub(super) fn note_failures(planner: &mut Planner<'_>) {
    note_mended(planner);
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
    let can_go_back = failed.iter().all(|one| one.can_go);
    let many = planner.status.failures.len() >= FAILURES;
    match planner.rollout.on_failure {
        _ if back || many || planner.status.direction == Direction::Abort || !can_go_back => {
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
/// for a replacement that is still missing, and objects that a Job may change: nothing would monitor these later.
fn leave_failed(planner: &mut Planner<'_>) {
    let judge = planner.judge();
    let is_left = |reservation: &InFlightObject| {
        let failed = planner.fails(&reservation.uid);
        let Some(object) = planner.object(&reservation.uid).filter(|_| reservation.back && failed) else {
            return false;
        };
        match planner.traveller(reservation) {
            Some(traveller) => {
                // Effects of a Job that could not be recorded would be missed by any rollback.
                let is_known = traveller.seen_job(reservation).is_none_or(|job| job.back)
                    || object.has_lost_mark(planner.rollout).is_some();
                let fails = is_known && judge.failed(traveller, reservation).is_some();
                fails && job_under_way(planner, reservation).is_none() && gap(planner, reservation).is_none()
            }
            None => matches!(judge.standing(object, Some(reservation)), ObjectState::Failed(_)),
        }
    };
    let left: Vec<String> =
        planner.status.in_flight.iter().filter(|one| is_left(one)).map(|one| one.uid.clone()).collect();
    planner.status.in_flight.retain(|one| !left.contains(&one.uid));
}

/// Pauses if too many objects outside of the in-flight set are unhealthy: the fleet has another problem. During an
/// undo, moved objects count as its cause and are skipped.
pub(super) fn look_for_unhealthy(planner: &mut Planner<'_>, standings: &[ObjectState]) {
    // A recheck of a finished rollout moves only objects that are in flight by it.
    let is_over = planner.was_over && planner.status.in_flight.is_empty();
    if planner.status.direction == Direction::Abort || planner.status.halted.is_some() || is_over {
        return;
    }
    let unhealthy = planner.view(standings).unhealthy();
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
