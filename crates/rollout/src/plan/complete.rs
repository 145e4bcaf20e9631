//! Objects in flight, and their release when complete.

use super::object_steps::{is_replaced, kept_of};
use super::planner::Planner;
use super::workflow_plan::{lost_failure, may_run, stays};
use crate::evaluate::object_state::ObjectState;
use crate::observe::fleet_object::FleetObject;
use crate::observe::status::{InFlightObject, RolloutFailure};
use crate::spec::rollout::Direction;

/// Records since when in-flight objects are healthy. The time restarts at the move.
pub(crate) fn remember(planner: &mut Planner<'_>) {
    let evaluator = planner.evaluator();
    let healthy = |in_flight_object: &&InFlightObject| {
        let object = planner.object(&in_flight_object.uid);
        object.is_some_and(|object| {
            evaluator.is_move_observed(object, in_flight_object)
                && evaluator.closed_gate(object, in_flight_object).is_none()
        })
    };
    let healthy: Vec<String> =
        planner.status.in_flight.iter().filter(healthy).map(|in_flight_object| in_flight_object.uid.clone()).collect();
    let runner_cache = &mut planner.facts.runner_cache.healthy;
    runner_cache.retain(|uid, _| healthy.contains(uid));
    for uid in healthy {
        runner_cache.entry(uid).or_insert(planner.now.steady);
    }
}

/// Releases objects that are complete by their observed state.
pub(crate) fn release(planner: &mut Planner<'_>) {
    let (mut refused_back, mut wants_list) = (None, planner.wants_list);
    let (mut reserved, mut became, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
    let under_way = std::mem::take(&mut planner.status.in_flight);
    let evaluator = planner.evaluator();
    for mut in_flight_object in under_way {
        let Some(object) = planner.object(&in_flight_object.uid) else {
            match unseen(planner, &in_flight_object) {
                Unseen::MayBeThere { wants_list: needs_list } => {
                    wants_list |= needs_list;
                    reserved.push(in_flight_object);
                }
                Unseen::Became => became.push(in_flight_object.wave.clone()),
                Unseen::Deleted(failure) => abandoned.extend(failure),
            }
            continue;
        };
        if let Some(context) = planner.context(&in_flight_object) {
            if stays(planner, context, &in_flight_object) {
                reserved.push(in_flight_object);
            } else {
                let is_undo = in_flight_object.back || planner.status.direction != Direction::Forward;
                abandoned.extend(lost_failure(planner, &in_flight_object).filter(|_| is_undo));
            }
            continue;
        }
        if object.object_progress.is_some() {
            // The wave it belonged to no longer exists.
            continue;
        }
        if !evaluator.is_move_observed(object, &in_flight_object) {
            let unobserved_write = unobserved_write(planner, object, &in_flight_object);
            wants_list |= unobserved_write.wants_list;
            if let Some(why) = unobserved_write.refused_back {
                refused_back = Some(why);
                in_flight_object.back = false;
            }
            reserved.extend(unobserved_write.stays.then_some(in_flight_object));
            continue;
        }
        let object_state = match object.is_terminating {
            true => evaluator.terminating_state(object, &in_flight_object),
            false => evaluator.under_way(object, &in_flight_object),
        };
        if !matches!(object_state, ObjectState::New | ObjectState::Old | ObjectState::Deleted) {
            reserved.push(in_flight_object);
        }
    }
    (planner.status.in_flight, planner.wants_list) = (reserved, wants_list);
    planner.is_replaced = !became.is_empty();
    for wave in became {
        *planner.status.converted_counts.entry(wave).or_default() += 1;
    }
    record_failures(planner, abandoned);
    if let Some(why) = refused_back {
        planner.halt("UndoRefused", why);
    }
}

/// Records failures of released objects, replacing earlier ones.
fn record_failures(planner: &mut Planner<'_>, abandoned: Vec<RolloutFailure>) {
    let is_same = |known: &RolloutFailure, one: &RolloutFailure| match (&known.job, &one.job) {
        // Each wave may have lost a Job of the object.
        (Some(known), Some(one)) => known.wave == one.wave,
        (job, _) => job.is_none(),
    };
    let is_replaced_by_new =
        |known: &RolloutFailure| abandoned.iter().any(|one| one.uid == known.uid && is_same(known, one));
    planner.status.failures.retain(|known| !is_replaced_by_new(known));
    planner.status.failures.extend(abandoned);
}

/// The decision about an in-flight object without its write.
struct UnobservedWrite {
    stays: bool,
    wants_list: bool,
    /// It failed and cannot be rolled back, with the reason.
    refused_back: Option<String>,
}

fn unobserved_write(planner: &Planner<'_>, object: &FleetObject, in_flight_object: &InFlightObject) -> UnobservedWrite {
    let (evaluator, consistent) = (planner.evaluator(), planner.facts.consistent);
    // An aborted rollout makes no further writes. If the write was stored, another client has changed the label since.
    let is_over = planner.status.direction == Direction::Abort;
    if is_over && consistent {
        return UnobservedWrite { stays: false, wants_list: false, refused_back: None };
    }
    // A stale cache may hide a later move.
    let is_left = evaluator.was_taken(object, in_flight_object) || evaluator.was_never_moved(object, in_flight_object);
    let has_nothing = is_left
        || object.is_terminating && evaluator.terminating_state(object, in_flight_object) == ObjectState::Deleted;
    let is_released = evaluator.was_reset(object, in_flight_object) || (has_nothing && consistent);
    let refused = planner.facts.runner_cache.answer(&object.uid).map(|answer| &answer.message);
    let fails = in_flight_object.back && planner.status.failure(&object.uid).is_some();
    let refused_back = refused.filter(|_| fails);
    UnobservedWrite {
        stays: !is_released && (fails || refused.is_none()),
        wants_list: is_over || (has_nothing && !is_released),
        refused_back: refused_back.map(|why| format!("{} failed and cannot be undone: {why}", object.title())),
    }
}

/// The state of an in-flight object that is missing from the fleet.
enum Unseen {
    /// A stale cache may miss it, or its Job still runs.
    MayBeThere { wants_list: bool },
    /// It was replaced by an object of the target kind.
    Became,
    /// It is deleted; contains the failure to record, if any.
    Deleted(Option<RolloutFailure>),
}

fn unseen(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Unseen {
    let may_run = may_run(planner, in_flight_object);
    if !planner.facts.consistent || may_run {
        Unseen::MayBeThere { wants_list: !may_run }
    } else if in_flight_object.target.is_none() && is_replaced(planner, in_flight_object) {
        Unseen::Became
    } else {
        Unseen::Deleted(abandoned_of(planner, in_flight_object))
    }
}

/// The failure of an object that was deleted in flight by another client while saved state exists. The saved state is
/// kept.
fn abandoned_of(planner: &Planner<'_>, in_flight_object: &InFlightObject) -> Option<RolloutFailure> {
    let kept = kept_of(planner, in_flight_object)?;
    let is_known = planner.status.failures.iter().any(|one| one.uid == in_flight_object.uid && one.reason == ABANDONED);
    let message = || {
        format!(
            "the object was deleted during its move: {kept} is kept, with the old Deployment in data.old and the new one in data.new. Restore them if needed, then delete the copy"
        )
    };
    let of = (in_flight_object.object.as_str(), in_flight_object.uid.as_str());
    (!is_known).then(|| RolloutFailure::of(of, ABANDONED, message(), planner.now()))
}

/// Failure reason: another client deleted an in-flight object.
const ABANDONED: &str = "Abandoned";
