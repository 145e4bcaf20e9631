//! The preflight before the first step of an object: an obstacle leaves the object unchanged.

use super::annotations::BECAME;
use super::convert::conversion_lookup;
use super::observation::{deployment_question, recreations, target_question};
use super::observed_object::{ObservedObject, annotation, goes, look};
use super::obstacles::{obstacle, obstacle_questions, pods_to_come};
use super::quota::PodSet;
use super::step_outcome::PreflightFailure;
use crate::definition::{ObjectAction, WorkflowStep};
use crate::rollout::lookup_request::LookupRequest;
use crate::rollout::lookup_results::{ConversionOutcome, LookupResults};
use crate::rollout::step_context::StepContext;

/// Lookups before the first step.
pub(in crate::rollout) fn ahead_questions(traveller: StepContext<'_>) -> Vec<LookupRequest> {
    let mut questions = Vec::new();
    for act in traveller.steps().iter().filter_map(WorkflowStep::beside).map(|step| &step.act) {
        match act {
            ObjectAction::Convert => {
                questions.extend(target_question(traveller));
                questions.extend(conversion_lookup(traveller));
            }
            ObjectAction::Recreate(recreation) => {
                questions.extend(obstacle_questions(traveller, recreation));
            }
            _ => {}
        }
    }
    questions
}

/// The reason why an object must not begin its workflow, or must wait. `others` are Pods about to start in the same
/// namespace.
pub(in crate::rollout) fn refused_ahead(
    traveller: StepContext<'_>,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    traveller.steps().iter().filter_map(WorkflowStep::beside).find_map(|step| match &step.act {
        ObjectAction::Convert => conversion(traveller, answers),
        ObjectAction::Recreate(recreation) => obstacle(traveller, recreation, answers, others),
        ObjectAction::DeleteSource => made_again(traveller),
        _ => None,
    })
}

/// Pods yet to start for an object in flight, or about to begin.
pub(in crate::rollout) fn pods_ahead(traveller: StepContext<'_>, answers: &LookupResults) -> Vec<PodSet> {
    recreations(traveller.steps()).filter_map(|recreation| pods_to_come(traveller, recreation, answers)).collect()
}

/// Lookups for [`pods_ahead`] of an object that has begun.
pub(in crate::rollout) fn pods_questions(traveller: StepContext<'_>) -> Vec<LookupRequest> {
    // Pods of earlier steps have started.
    let steps = traveller.steps().get(traveller.leg.done.saturating_sub(1)..).unwrap_or_default();
    recreations(steps).map(|recreation| deployment_question(traveller, recreation)).collect()
}

/// The manager that would create the object again after its deletion.
fn made_again(traveller: StepContext<'_>) -> Option<PreflightFailure> {
    let manager = traveller.object.git.as_ref().filter(|_| !traveller.rollout.take_over)?;
    Some(PreflightFailure::Refused(format!(
        "{manager} sets the object, and would make it again once it is deleted: take it out of Git, and leave it in the \
         cluster; where nobody applies it any more, say takeOver: true in the StagedRollout"
    )))
}

fn conversion(traveller: StepContext<'_>, answers: &LookupResults) -> Option<PreflightFailure> {
    let target = target_question(traveller)?;
    match look(answers, &target) {
        ObservedObject::Unknown(why) => return Some(PreflightFailure::Waits(why)),
        ObservedObject::Going(object) => return Some(PreflightFailure::Waits(goes(&target, object))),
        ObservedObject::There(object) if annotation(object, BECAME) != Some(traveller.object.uid()) => {
            return Some(PreflightFailure::Refused(format!("{target} is there, and was not made of this object")));
        }
        ObservedObject::There(_) | ObservedObject::Absent => {}
    }
    match answers.conversion_of(&conversion_lookup(traveller)?) {
        Some(ConversionOutcome::Object(..)) => None,
        Some(ConversionOutcome::Refused(why)) => Some(PreflightFailure::Refused(why.clone())),
        Some(ConversionOutcome::Waits(why)) => Some(PreflightFailure::Waits(why.clone())),
        None => Some(PreflightFailure::Waits(format!("nobody has looked what becomes {target}"))),
    }
}
