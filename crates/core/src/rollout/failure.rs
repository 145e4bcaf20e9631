//! What goes wrong with a fleet, and what the StagedRollout says of that.

use super::fleet_object::FleetObject;
use super::fleet_rollout::{Direction, Rollout, OnFailure};
use super::message::some;
use super::object_state::ObjectState;
use super::planner::Planner;
use super::status::{ANNOTATION_REMOVED, HELD, InFlightObject, RolloutFailure, TIMED_OUT};
use super::workflow_plan::{gap, job_under_way, turn_back};

/// Somebody else turned a label back that was moved: nobody knows what they want, so that nothing more is moved.
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
    // Whoever turns a whole fleet back is told of in a few of its objects: a status has to fit into etcd. The others
    // are not moved either, and whoever resumes the rollout has seen enough of them.
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

/// The old controller goes on acting on an object that was moved: whatever it writes, the new one does not expect.
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

/// An object that fails.
struct Failing<'f> {
    object: &'f FleetObject,
    back: bool,
    reason: &'static str,
    why: String,
    /// Whether it can be taken back.
    can_go: bool,
}

/// Objects that are under way and fail, and of which that is not known yet.
fn failing<'a>(planner: &Planner<'a>) -> Vec<Failing<'a>> {
    let judge = planner.judge();
    let mut failed = Vec::new();
    for reservation in &planner.status.in_flight {
        let Some(object) = planner.object(&reservation.uid) else { continue };
        // That its mark was lost says nothing of how it goes on.
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

/// What is done to the version label of an object, on its way there or back.
fn told_way(rollout: &Rollout, object: &FleetObject, back: bool) -> String {
    let label = &rollout.label;
    // The mark says where it came from, until it is there again.
    let was = object.mark_of(rollout).map_or_else(|| object.version(), |mark| mark.was.as_deref());
    match was {
        _ if !back => format!("label {label} to {}", rollout.to),
        Some(was) => format!("label {label} back to {was}"),
        None => format!("label {label} taken off again"),
    }
}

/// What was mended by somebody while nobody had resumed the rollout is not run anew when they do.
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

/// Objects that are not healthy in time, and what the StagedRollout says of that.
pub(super) fn note_failures(planner: &mut Planner<'_>) {
    note_mended(planner);
    let failed = failing(planner);
    note_failed(planner, &failed);
    if planner.status.direction == Direction::Abort && planner.rollout.has_steps() {
        leave_failed(planner);
    }
}

/// What the StagedRollout says, and does, of objects of which it was not known that they fail.
fn note_failed(planner: &mut Planner<'_>, failed: &[Failing<'_>]) {
    let Some(Failing { object: first, why, reason, .. }) = failed.first() else { return };
    let reason = *reason;
    let more = failed.len() - 1;
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let message = format!("{}: {why}{more}", first.title());
    let back = planner.status.direction == Direction::Undo || failed.iter().any(|one| one.back);
    for Failing { object, why, reason, .. } in failed {
        let failure = failure(planner, object, reason, why.clone());
        // What was lost stays lost, and what somebody has been told of is known.
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

/// What failed goes back from here.
fn take_back(planner: &mut Planner<'_>, uids: &[&str]) {
    let is_of = |one: &RolloutFailure| one.reason != ANNOTATION_REMOVED && uids.contains(&one.uid.as_str());
    planner.status.failures.iter_mut().filter(|one| is_of(one)).for_each(|failure| failure.back = true);
    let mut reserved = planner.status.in_flight.clone();
    reserved.iter_mut().filter(|one| uids.contains(&one.uid.as_str())).for_each(|one| turn_back(planner, one));
    planner.status.in_flight = reserved;
}

/// Nobody is going to resume a rollout that stops: what failed goes back as far as it can.
fn turn_failed(planner: &mut Planner<'_>, failed: &[Failing<'_>]) {
    let to_turn: Vec<&str> = failed.iter().filter(|one| !one.back).map(|one| one.object.uid.as_str()).collect();
    take_back(planner, &to_turn);
}

/// What fails on its way back is let go by a rollout that stops, and the end names it: but for what was deleted for
/// another one, and is not there yet, and for what a Job may still change. Nobody would look after those any more.
fn leave_failed(planner: &mut Planner<'_>) {
    let judge = planner.judge();
    let is_left = |reservation: &InFlightObject| {
        let failed = planner.fails(&reservation.uid);
        let Some(object) = planner.object(&reservation.uid).filter(|_| reservation.back && failed) else {
            return false;
        };
        match planner.traveller(reservation) {
            Some(traveller) => {
                // What a Job did to it, and nobody could write down, no way back would know of.
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

/// Objects that are not healthy and not under way: moved or not, something else is wrong with the fleet. While it
/// goes back, those that were moved are why.
pub(super) fn look_for_unhealthy(planner: &mut Planner<'_>, standings: &[ObjectState]) {
    // Whoever looks once more at what is over moves nothing but what is under way by that.
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

/// The reason of a failure where the old controller still acts on a moved object.
const TWO_CONTROLLERS: &str = "TwoControllers";

/// Failures in a status, which must not become large.
const FAILURES: usize = 50;
