//! Objects are held until their turn: nobody else changes their version label meanwhile, also who knows nothing of the
//! rollout. `/mutate` of the servers sees to that, by what stands on the object.
//!
//! What another rollout holds is held already, and whoever moves it takes that hold off: who held it is over, or gone,
//! or this rollout would not have begun.

use super::fleet_object::{Membership, FleetObject};
use super::message::PendingGate;
use super::object_state::ObjectState;
use super::patch::ObjectPatch;
use super::planner::Planner;

/// Holds what is to go and is not held yet, before anything goes on. Returns whether there was something.
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
    // What is left behind is let go at the end, and not held again for that.
    let stays = matches!(standing, ObjectState::Held(_)) && !object.is_released_by(planner.rollout);
    let is_to_go = stays || matches!(standing, ObjectState::Old | ObjectState::Waiting(_) | ObjectState::Refused(_));
    let is_new = object.mark_of(planner.rollout).is_none() && !object.is_at(&planner.rollout.to);
    let is_refused = planner.facts.remembered.is_hold_refused(object.uid());
    is_to_go && is_new && !is_refused && object.hold().is_none() && !object.is_let_go()
}

/// Lets go what is held and does not move, before the rollout is over, or where it is not to hold any more. Returns
/// whether there was something.
pub(super) fn lets_go_first(planner: &mut Planner<'_>) -> bool {
    lets_go(planner, |_| true)
}

/// The same of some of them.
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

/// Writes of one plan: more than are made before the next one.
const AT_ONCE: usize = 64;

/// The reason while it holds objects, or lets them go.
const HOLDS: &str = "Holds";
