//! The preflight before the first step of an object: an obstacle leaves the object unchanged.

use super::context::StepContext;
use super::convert::conversion_lookup;
use super::observed_object::BECAME;
use super::observed_object::{ObservedObject, annotation, observed, terminating_message};
use super::observed_object::{deployment_lookup, recreations, target_lookup};
use super::obstacles::PodSet;
use super::obstacles::{obstacle, obstacle_lookups, pending_pods};
use super::outcome::PreflightFailure;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::{ConversionOutcome, LookupResults};
use pointsman_core::definition::{ObjectAction, WorkflowStep};

/// Lookups before the first step.
pub(crate) fn preflight_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    let mut lookups = Vec::new();
    for act in context.steps().iter().filter_map(WorkflowStep::object_step).map(|step| &step.act) {
        match act {
            ObjectAction::Convert => {
                lookups.extend(target_lookup(context));
                lookups.extend(conversion_lookup(context));
            }
            ObjectAction::Recreate(recreation) => {
                lookups.extend(obstacle_lookups(context, recreation));
            }
            _ => {}
        }
    }
    lookups
}

/// The reason why an object must not begin its workflow, or must wait. `others` are Pods about to start in the same
/// namespace.
pub(crate) fn refused_ahead(
    context: StepContext<'_>,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    context.steps().iter().filter_map(WorkflowStep::object_step).find_map(|step| match &step.act {
        ObjectAction::Convert => conversion(context, answers),
        ObjectAction::Recreate(recreation) => obstacle(context, recreation, answers, others),
        ObjectAction::DeleteSource => made_again(context),
        _ => None,
    })
}

/// Pods yet to start for an object in flight, or about to begin.
pub(crate) fn pods_ahead(context: StepContext<'_>, answers: &LookupResults) -> Vec<PodSet> {
    recreations(context.steps()).filter_map(|recreation| pending_pods(context, recreation, answers)).collect()
}

/// Lookups for [`pods_ahead`] of an object that has begun.
pub(crate) fn pods_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    // Pods of earlier steps have started.
    let steps = context.steps().get(context.wave_progress.done.saturating_sub(1)..).unwrap_or_default();
    recreations(steps).map(|recreation| deployment_lookup(context, recreation)).collect()
}

/// The manager that would create the object again after its deletion.
fn made_again(context: StepContext<'_>) -> Option<PreflightFailure> {
    let manager = context.object.git.as_ref().filter(|_| !context.rollout.take_over)?;
    Some(PreflightFailure::Refused(format!(
        "{manager} applies the object, and would recreate the object after the deletion: remove the object from \
             Git, and keep it in the cluster; if Git does not apply the object any more, set takeOver: true in the \
             StagedRollout"
    )))
}

fn conversion(context: StepContext<'_>, answers: &LookupResults) -> Option<PreflightFailure> {
    let target = target_lookup(context)?;
    match observed(answers, &target) {
        ObservedObject::Unknown(why) => return Some(PreflightFailure::Waits(why)),
        ObservedObject::Terminating(object) => {
            return Some(PreflightFailure::Waits(terminating_message(&target, object)));
        }
        ObservedObject::There(object) if annotation(object, BECAME) != Some(context.object.uid()) => {
            return Some(PreflightFailure::Refused(format!("{target} exists, and was not created from this object")));
        }
        ObservedObject::There(_) | ObservedObject::Absent => {}
    }
    match answers.conversion_of(&conversion_lookup(context)?) {
        Some(ConversionOutcome::Object(..)) => None,
        Some(ConversionOutcome::Refused(why)) => Some(PreflightFailure::Refused(why.clone())),
        Some(ConversionOutcome::Waits(why)) => Some(PreflightFailure::Waits(why.clone())),
        None => Some(PreflightFailure::Waits(format!("{target} was not converted yet"))),
    }
}
