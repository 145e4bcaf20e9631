//! Lookups of objects named in steps.

use std::collections::BTreeMap;

use super::context::StepContext;
use crate::lookup::request::LookupRequest;
use pointsman_core::definition::{ObjectAction, Recreation, StepObject, WorkflowStep};

/// Lookup of an object named in a step. `None` for an unknown kind.
pub(super) fn object_lookup(context: StepContext<'_>, on: &StepObject) -> Option<LookupRequest> {
    let (namespace, name) = (context.object.namespace(), context.object.name());
    let pair = context.rollout.pair.as_deref();
    Some(match on {
        StepObject::Source => pair.map(|pair| LookupRequest::of_paired(&pair.source, namespace, name))?,
        StepObject::Target => pair.map(|pair| LookupRequest::of_paired(&pair.target, namespace, name))?,
        StepObject::Named { resource, name } => {
            LookupRequest::of_object(resource, namespace, &context.filled_text(name))
        }
    })
}

/// Lookup of the replacement.
pub(super) fn target_lookup(context: StepContext<'_>) -> Option<LookupRequest> {
    object_lookup(context, &StepObject::Target)
}

/// Lookup of a Deployment to recreate.
pub(super) fn deployment_lookup(context: StepContext<'_>, recreation: &Recreation) -> LookupRequest {
    let name = context.filled_text(&recreation.name);
    LookupRequest::of_object(&recreation.resource, context.object.namespace(), &name)
}

/// The new Pod selector.
pub(super) fn selector(context: StepContext<'_>, recreation: &Recreation) -> BTreeMap<String, String> {
    filled(context, &recreation.selector)
}

/// The earlier Pod selector, for a restore without saved state. `None` if saved state exists, or the step lacks `was`.
pub(super) fn selector_again(context: StepContext<'_>, recreation: &Recreation) -> Option<BTreeMap<String, String>> {
    (context.is_again() && !recreation.was.is_empty()).then(|| filled(context, &recreation.was))
}

fn filled(context: StepContext<'_>, labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    labels.iter().map(|(label, value)| (label.clone(), context.filled_text(value))).collect()
}

/// Deployments that steps recreate.
pub(super) fn recreations<'s>(
    steps: impl IntoIterator<Item = &'s WorkflowStep>,
) -> impl Iterator<Item = &'s Recreation> {
    steps.into_iter().filter_map(WorkflowStep::object_step).filter_map(|step| match &step.act {
        ObjectAction::Recreate(recreation) => Some(&**recreation),
        _ => None,
    })
}
