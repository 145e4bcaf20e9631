//! Holds protect the version label of objects until their turn, also from clients that do not know the rollout. The
//! servers enforce holds in `/mutate`, by an annotation on the object.
//!
//! An object held by another rollout needs no second hold, and the move removes the other hold: its rollout is complete
//! or deleted, otherwise this one could not have begun.

use super::planner::Planner;
use crate::evaluate::message::PendingGate;
use crate::evaluate::object_state::ObjectState;
use crate::observe::fleet_object::{FleetObject, Membership};
use crate::steps::patch::ObjectPatch;

/// Holds pending objects before anything else. Returns true if there were any.
pub(crate) fn holds_first(planner: &mut Planner<'_>, object_states: &[ObjectState]) -> bool {
    let (rollout, now) = (planner.rollout, planner.now);
    if !rollout.hold {
        return release_first(planner);
    }
    let fleet = planner.fleet.iter().zip(object_states);
    let fleet = fleet.filter(|(object, object_state)| is_to_be_held(planner, object, object_state));
    let all: Vec<&FleetObject> = fleet.map(|(object, _)| object).collect();
    if all.is_empty() {
        return release_some(planner, |object| object.belongs == Membership::Held);
    }
    let what = format!("holding {} more", all.len());
    planner.holds = all.into_iter().take(AT_ONCE).map(|object| ObjectPatch::hold(rollout, object, now)).collect();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

fn is_to_be_held(planner: &Planner<'_>, object: &FleetObject, object_state: &ObjectState) -> bool {
    // Skipped objects are released at the end, and not held again.
    let stays = matches!(object_state, ObjectState::Held(_)) && !object.is_released_by(planner.rollout);
    let is_pending =
        stays || matches!(object_state, ObjectState::Old | ObjectState::Waiting(_) | ObjectState::Refused(_));
    let is_new = object.annotation_of(planner.rollout).is_none() && !object.is_at(&planner.rollout.to);
    let is_refused = planner.facts.runner_cache.is_hold_refused(object.uid());
    is_pending && is_new && !is_refused && object.hold().is_none() && !object.is_released()
}

/// Releases held objects that do not move, before the end of the rollout or after `hold` is turned off. Returns true if
/// there were any.
pub(crate) fn release_first(planner: &mut Planner<'_>) -> bool {
    release_some(planner, |_| true)
}

/// Releases some of them.
fn release_some(planner: &mut Planner<'_>, which: impl Fn(&FleetObject) -> bool) -> bool {
    let is_refused = |object: &FleetObject| planner.facts.runner_cache.is_hold_refused(object.uid());
    let held = planner.fleet.iter().filter(|object| !object.is_terminating && !is_refused(object) && which(object));
    let all: Vec<ObjectPatch> =
        held.filter_map(|object| ObjectPatch::release(planner.rollout, object)).take(AT_ONCE).collect();
    if all.is_empty() {
        return false;
    }
    planner.holds = all;
    let what = "releasing pending objects".to_owned();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

/// Writes of one plan: more than the runner can make before the next plan.
const AT_ONCE: usize = 64;

/// Reason: the rollout holds or releases objects.
const HOLDS: &str = "Holds";
