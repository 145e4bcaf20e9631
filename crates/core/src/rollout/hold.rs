//! Holds protect the version label of objects until their turn, also from clients that do not know the rollout. The
//! servers enforce holds in `/mutate`, by an annotation on the object.
//!
//! An object held by another rollout needs no second hold, and the move removes the other hold: its rollout is complete
//! or deleted, otherwise this one could not have begun.

use super::fleet_object::{FleetObject, Membership};
use super::message::PendingGate;
use super::object_state::ObjectState;
use super::patch::ObjectPatch;
use super::planner::Planner;

/// Holds pending objects before anything else. Returns true if there were any.
pub(super) fn holds_first(planner: &mut Planner<'_>, standings: &[ObjectState]) -> bool {
    let (rollout, now) = (planner.rollout, planner.now);
    if !rollout.hold {
        return lets_go_first(planner);
    }
    let fleet = planner.fleet.iter().zip(standings);
    let fleet = fleet.filter(|(object, standing)| is_to_be_held(planner, object, standing));
    let all: Vec<&FleetObject> = fleet.map(|(object, _)| object).collect();
    if all.is_empty() {
        return lets_go(planner, |object| object.belongs == Membership::Held);
    }
    let what = format!("holding {} more", all.len());
    planner.holds = all.into_iter().take(AT_ONCE).map(|object| ObjectPatch::hold(rollout, object, now)).collect();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

fn is_to_be_held(planner: &Planner<'_>, object: &FleetObject, standing: &ObjectState) -> bool {
    // Skipped objects are released at the end, and not held again.
    let stays = matches!(standing, ObjectState::Held(_)) && !object.is_released_by(planner.rollout);
    let is_to_go = stays || matches!(standing, ObjectState::Old | ObjectState::Waiting(_) | ObjectState::Refused(_));
    let is_new = object.mark_of(planner.rollout).is_none() && !object.is_at(&planner.rollout.to);
    let is_refused = planner.facts.remembered.is_hold_refused(object.uid());
    is_to_go && is_new && !is_refused && object.hold().is_none() && !object.is_let_go()
}

/// Releases held objects that do not move, before the end of the rollout or after `hold` is turned off. Returns true if
/// there were any.
pub(super) fn lets_go_first(planner: &mut Planner<'_>) -> bool {
    lets_go(planner, |_| true)
}

/// Releases some of them.
fn lets_go(planner: &mut Planner<'_>, which: impl Fn(&FleetObject) -> bool) -> bool {
    let is_refused = |object: &FleetObject| planner.facts.remembered.is_hold_refused(object.uid());
    let held = planner.fleet.iter().filter(|object| !object.is_going && !is_refused(object) && which(object));
    let all: Vec<ObjectPatch> =
        held.filter_map(|object| ObjectPatch::let_go(planner.rollout, object)).take(AT_ONCE).collect();
    if all.is_empty() {
        return false;
    }
    planner.holds = all;
    let what = "letting go what has not moved".to_owned();
    planner.in_the_way.waits = Some(PendingGate { reason: Some(HOLDS), what });
    true
}

/// Writes of one plan: more than the runner can make before the next plan.
const AT_ONCE: usize = 64;

/// Reason: the rollout holds or releases objects.
const HOLDS: &str = "Holds";
