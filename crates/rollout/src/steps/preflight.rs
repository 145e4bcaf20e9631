//! The preflight before the first step of an object: an obstacle leaves the object unchanged.

use super::actions::step_action;
use super::context::StepContext;
use super::objects::observed_object::{deployment_lookup, recreations};
use super::objects::obstacles::{PodSet, pending_pods};
use super::outcome::PreflightFailure;
use crate::definition::workflows::WorkflowStep;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;

/// Lookups before the first step.
pub(crate) fn preflight_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    let steps = context.steps().iter().filter_map(WorkflowStep::object_step);
    steps.flat_map(|step| step_action(&step.act).preflight_lookups(context)).collect()
}

/// The reason why an object must not begin its workflow, or must wait. `others` are Pods about to start in the same
/// namespace.
pub(crate) fn refused_ahead(
    context: StepContext<'_>,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    let mut steps = context.steps().iter().filter_map(WorkflowStep::object_step);
    steps.find_map(|step| step_action(&step.act).preflight(context, answers, others))
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
