//! Dependents of an object: objects of any resource with an owner reference to it.

use super::observed_object::{list, text};
use crate::definition::workflows::ObjectAction;
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::outcome::ObjectStepInput;
use pointsman_core::apimachinery::ResourceName;

/// The reason to keep an object: dependents of any resource.
pub(in crate::steps) fn belongs(step: ObjectStepInput<'_>, uid: &str, called: &str) -> Option<String> {
    let found = match list(step.answers, &LookupRequest::of_referring(step.namespace(), uid)) {
        Err(why) => return Some(why),
        Ok(found) => found,
    };
    let first = found.first()?;
    let more = if found.len() > 1 { format!(" and {} more", found.len() - 1) } else { String::new() };
    let resource = text(first, "/resource");
    // Dependents created after that step are not transferred.
    let is_named = adopted(step.context).any(|one| one.to_string() == resource);
    let next = if is_named { "" } else { "add its resource to `adopt`, or " };
    let name = text(first, "/metadata/name");
    Some(format!("{resource} {name}{more} still belongs to {called} by an owner reference: {next}remove the reference"))
}

/// Resources of transferred dependents.
fn adopted(context: StepContext<'_>) -> impl Iterator<Item = &ResourceName> {
    let steps = context.steps().iter().filter_map(|step| step.object_step());
    steps.flat_map(|step| match &step.act {
        ObjectAction::Adopt(resources) => resources.as_slice(),
        _ => &[],
    })
}
