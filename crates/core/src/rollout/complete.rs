//! Objects in flight, and their release when complete.

use super::fleet_object::FleetObject;
use super::fleet_rollout::Direction;
use super::object_state::ObjectState;
use super::object_steps::{is_replaced, kept_of};
use super::planner::Planner;
use super::status::{InFlightObject, RolloutFailure};
use super::workflow_plan::{lost_failure, may_run, stays};

/// Records since when in-flight objects are healthy. The time restarts at the move.
pub(super) fn remember(planner: &mut Planner<'_>) {
    let judge = planner.judge();
    let healthy = |reservation: &&InFlightObject| {
        let object = planner.object(&reservation.uid);
        object.is_some_and(|object| judge.has_landed(object, reservation) && judge.shut(object, reservation).is_none())
    };
    let healthy: Vec<String> =
        planner.status.in_flight.iter().filter(healthy).map(|reservation| reservation.uid.clone()).collect();
    let remembered = &mut planner.facts.remembered.healthy;
    remembered.retain(|uid, _| healthy.contains(uid));
    for uid in healthy {
        remembered.entry(uid).or_insert(planner.now.steady);
    }
}

/// Releases objects that are complete by their observed state.
pub(super) fn release(planner: &mut Planner<'_>) {
    let (mut refused_back, mut wants_list) = (None, planner.wants_list);
    let (mut reserved, mut became, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
    let under_way = std::mem::take(&mut planner.status.in_flight);
    let judge = planner.judge();
    for mut reservation in under_way {
        let Some(object) = planner.object(&reservation.uid) else {
            match unseen(planner, &reservation) {
                Unseen::MayBeThere { wants_list: asks } => {
                    wants_list |= asks;
                    reserved.push(reservation);
                }
                Unseen::Became => became.push(reservation.wave.clone()),
                Unseen::Gone(failure) => abandoned.extend(failure),
            }
            continue;
        };
        if let Some(traveller) = planner.traveller(&reservation) {
            if stays(planner, traveller, &reservation) {
                reserved.push(reservation);
            } else {
                let goes_back = reservation.back || planner.status.direction != Direction::Forward;
                abandoned.extend(lost_failure(planner, &reservation).filter(|_| goes_back));
            }
            continue;
        }
        if object.legs.is_some() {
            // The wave it belonged to no longer exists.
            continue;
        }
        if !judge.has_landed(object, &reservation) {
            let unlanded = unlanded(planner, object, &reservation);
            wants_list |= unlanded.wants_list;
            if let Some(why) = unlanded.refused_back {
                refused_back = Some(why);
                reservation.back = false;
            }
            reserved.extend(unlanded.stays.then_some(reservation));
            continue;
        }
        let standing = match object.is_going {
            true => judge.going(object, &reservation),
            false => judge.under_way(object, &reservation),
        };
        if !matches!(standing, ObjectState::New | ObjectState::Old | ObjectState::Gone) {
            reserved.push(reservation);
        }
    }
    (planner.status.in_flight, planner.wants_list) = (reserved, wants_list);
    planner.is_replaced = !became.is_empty();
    for wave in became {
        *planner.status.converted_counts.entry(wave).or_default() += 1;
    }
    tell(planner, abandoned);
    if let Some(why) = refused_back {
        planner.halt("NotTakenBack", why);
    }
}

/// Records failures of released objects, replacing earlier ones.
fn tell(planner: &mut Planner<'_>, abandoned: Vec<RolloutFailure>) {
    let is_same = |known: &RolloutFailure, one: &RolloutFailure| match (&known.job, &one.job) {
        // Each wave may have lost a Job of the object.
        (Some(known), Some(one)) => known.wave == one.wave,
        (job, _) => job.is_none(),
    };
    let is_told_anew = |known: &RolloutFailure| abandoned.iter().any(|one| one.uid == known.uid && is_same(known, one));
    planner.status.failures.retain(|known| !is_told_anew(known));
    planner.status.failures.extend(abandoned);
}

/// The decision about an in-flight object without its write.
struct UnobservedWrite {
    stays: bool,
    wants_list: bool,
    /// It failed and cannot be rolled back, with the reason.
    refused_back: Option<String>,
}

fn unlanded(planner: &Planner<'_>, object: &FleetObject, reservation: &InFlightObject) -> UnobservedWrite {
    let (judge, consistent) = (planner.judge(), planner.facts.consistent);
    // An aborted rollout writes nothing more. If the write was stored, another client has changed the label since.
    let is_over = planner.status.direction == Direction::Abort;
    if is_over && consistent {
        return UnobservedWrite { stays: false, wants_list: false, refused_back: None };
    }
    // A stale cache may hide a later move.
    let is_left = judge.was_taken(object, reservation) || judge.was_never_moved(object, reservation);
    let has_nothing = is_left || object.is_going && judge.going(object, reservation) == ObjectState::Gone;
    let is_gone = judge.was_turned_back(object, reservation) || (has_nothing && consistent);
    let refused = planner.facts.remembered.answer(&object.uid).map(|answer| &answer.message);
    let fails = reservation.back && planner.status.failure(&object.uid).is_some();
    let refused_back = refused.filter(|_| fails);
    UnobservedWrite {
        stays: !is_gone && (fails || refused.is_none()),
        wants_list: is_over || (has_nothing && !is_gone),
        refused_back: refused_back.map(|why| format!("{} failed and cannot be taken back: {why}", object.title())),
    }
}

/// The state of an in-flight object that is missing from the fleet.
enum Unseen {
    /// A stale cache may miss it, or its Job still runs.
    MayBeThere { wants_list: bool },
    /// It was replaced by an object of the target kind.
    Became,
    /// It is deleted; contains the failure to record, if any.
    Gone(Option<RolloutFailure>),
}

fn unseen(planner: &Planner<'_>, reservation: &InFlightObject) -> Unseen {
    let may_run = may_run(planner, reservation);
    if !planner.facts.consistent || may_run {
        Unseen::MayBeThere { wants_list: !may_run }
    } else if reservation.target.is_none() && is_replaced(planner, reservation) {
        Unseen::Became
    } else {
        Unseen::Gone(abandoned_of(planner, reservation))
    }
}

/// The failure of an object that was deleted in flight by another client while saved state exists. The saved state is
/// kept.
fn abandoned_of(planner: &Planner<'_>, reservation: &InFlightObject) -> Option<RolloutFailure> {
    let kept = kept_of(planner, reservation)?;
    let is_known = planner.status.failures.iter().any(|one| one.uid == reservation.uid && one.reason == ABANDONED);
    let message = || {
        format!(
            "somebody deleted it on its way: {kept} stays, and has its Deployment under data.old, and under data.new the one \
             that was to be made"
        )
    };
    let of = (reservation.object.as_str(), reservation.uid.as_str());
    (!is_known).then(|| RolloutFailure::of(of, ABANDONED, message(), planner.now()))
}

/// Failure reason: another client deleted an in-flight object.
const ABANDONED: &str = "Abandoned";
