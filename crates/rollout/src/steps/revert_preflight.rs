//! The preflight of a rollback of a recreated object: with an obstacle, its replacement keeps everything.

use super::context::StepContext;
use super::objects::observed_object::{ObservedObject, deployment_lookup, recreations, selector_again};
use super::objects::obstacles::{obstacle_lookups, obstacles_around};
use super::objects::recreation_source::selector_of;
use super::outcome::{ObjectStepInput, StepOutcome};
use crate::definition::workflows::Recreation;
use crate::lookup::request::LookupRequest;

/// Lookups before a step of the object is reverted.
pub(super) fn revert_preflight_lookups(context: StepContext<'_>, step: usize) -> Vec<LookupRequest> {
    if !context.is_again() {
        return Vec::new();
    }
    let before = recreations(context.steps().get(..step).unwrap_or_default());
    before.flat_map(|recreation| obstacle_lookups(context, recreation)).collect()
}

/// The reason to delay a revert: an earlier step could not be reverted afterwards.
pub(super) fn behind(step: ObjectStepInput<'_>) -> Option<StepOutcome> {
    let mut before = recreations(step.context.steps().get(..step.step).unwrap_or_default());
    before.find_map(|recreation| against(step, recreation))
}

fn against(step: ObjectStepInput<'_>, recreation: &Recreation) -> Option<StepOutcome> {
    let was = selector_again(step.context, recreation)?;
    let lookup = deployment_lookup(step.context, recreation);
    let object = match step.observed(&lookup) {
        ObservedObject::Unknown(why) => return Some(StepOutcome::Waits(why)),
        ObservedObject::Terminating(_) => return Some(StepOutcome::Waits(format!("{lookup} is being deleted"))),
        // The Deployment does not exist.
        ObservedObject::Absent => return None,
        ObservedObject::There(object) => object,
    };
    if selector_of(object).as_ref() == Some(&was) {
        return None;
    }
    let ahead = obstacles_around(step.context, recreation, (object, &was), step.answers, &[])?;
    Some(StepOutcome::Waits(ahead.into_why()))
}
