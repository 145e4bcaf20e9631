//! Steps that delete: objects with labels, and finally the object of the rollout.

use serde_json::Value;

use super::context::StepContext;
use super::copied_metadata::carried;
use super::object_write::{ObjectCall, ObjectWrite, Propagation};
use super::observed_object::controller;
use super::observed_object::{BECAME, GENERATION, WORKFLOW_LABEL};
use super::observed_object::{ObservedObject, annotation, is_terminating, list, observed, text};
use super::observed_object::{deployment_lookup, object_lookup, recreations, selector, target_lookup};
use super::outcome::{ObjectStepInput, StepOutcome};
use super::recreation_source::selector_of;
use super::revert::linked;
use super::wait::not_rolled_out;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::status::InFlightObject;
use crate::spec::rollout::Rollout;
use pointsman_core::apimachinery::ResourceName;
use pointsman_core::definition::{ObjectAction, Recreation, StepDirection, StepObject};

pub(super) fn labelled_questions(
    context: StepContext<'_>,
    step: usize,
    resource: &ResourceName,
    labels: &str,
) -> Vec<LookupRequest> {
    let made = made_before(context, step).map(|recreation| deployment_lookup(context, recreation));
    made.chain([labelled_lookup(context, resource, labels)]).collect()
}

/// Deployments recreated by earlier steps.
fn made_before(context: StepContext<'_>, step: usize) -> impl Iterator<Item = &Recreation> {
    recreations(context.steps().get(..step).unwrap_or_default())
}

/// The reason why a recreated Deployment is not ready now, regardless of an earlier wait.
fn serves_not(step: ObjectStepInput<'_>, recreation: &Recreation) -> Option<String> {
    let lookup = deployment_lookup(step.context, recreation);
    let why = match step.observed(&lookup) {
        ObservedObject::Unknown(why) => return Some(why),
        ObservedObject::Absent => Some("does not exist".to_owned()),
        ObservedObject::Terminating(_) => Some("is being deleted".to_owned()),
        ObservedObject::There(object) if selector_of(object) != Some(selector(step.context, recreation)) => {
            Some("does not select its new Pods".to_owned())
        }
        ObservedObject::There(object) => not_rolled_out(object),
    };
    why.map(|why| format!("{lookup}: {why}, and the previous step then deletes the old one"))
}

fn labelled_lookup(context: StepContext<'_>, resource: &ResourceName, labels: &str) -> LookupRequest {
    // Not metadata alone: the result for a missing resource would be ambiguous.
    LookupRequest::of_labelled(resource, context.object.namespace(), &context.filled_text(labels))
}

/// Deletes objects with labels one by one, once their successors are ready.
pub(super) fn labelled(step: ObjectStepInput<'_>, resource: &ResourceName, labels: &str) -> StepOutcome {
    let mut made = made_before(step.context, step.step);
    if let Some(why) = made.find_map(|recreation| serves_not(step, recreation)) {
        return StepOutcome::Waits(why);
    }
    let all = match list(step.answers, &labelled_lookup(step.context, resource, labels)) {
        Ok(all) => all,
        Err(why) => return StepOutcome::Waits(why),
    };
    orphans(step, resource, all)
}

/// Deletes objects without controller. Objects of another controller are skipped: it would recreate them, or they are
/// unrelated.
pub(super) fn orphans(step: ObjectStepInput<'_>, resource: &ResourceName, all: &[Value]) -> StepOutcome {
    let is_others = |object: &&Value| controller(object).is_some_and(|(_, uid)| uid != step.uid());
    if let Some(object) = all.iter().find(|object| !is_terminating(object) && !is_others(object)) {
        return step.delete(resource, None, object, Propagation::Background);
    }
    match all.first() {
        None => StepOutcome::Done,
        Some(object) => {
            let name = text(object, "/metadata/name");
            let by = controller(object).filter(|_| is_others(&object)).map(|(by, _)| by);
            StepOutcome::Waits(match by {
                Some(by) => format!("{resource} {name} is controlled by {by}, and is not deleted"),
                None => format!("{resource} {name} is being deleted"),
            })
        }
    }
}

pub(super) fn source_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    let sweep = LookupRequest::of_referring(context.object.namespace(), context.object.uid());
    // The object is read last, to shorten the time before its deletion.
    let own = object_lookup(context, &StepObject::Source);
    target_lookup(context).into_iter().chain([sweep]).chain(own).collect()
}

/// Deletes the object if its replacement exists and no dependents are left.
pub(super) fn source(step: ObjectStepInput<'_>) -> StepOutcome {
    let own = object_lookup(step.context, &StepObject::Source);
    let (Some(pair), Some(own), Some(target)) = (step.pair(), own, target_lookup(step.context)) else {
        return StepOutcome::Stuck("the replacement of the object is unknown".to_owned());
    };
    let became = match linked(step, &target) {
        Ok(became) => became,
        Err(not_yet) => return not_yet,
    };
    let (uid, made) = (step.uid(), annotation(became, GENERATION));
    if let Some(why) = belongs(step, uid, "it") {
        return StepOutcome::Waits(why);
    }
    match step.observed(&own) {
        ObservedObject::There(object) if text(object, "/metadata/uid") == uid && !is_of_generation(object, made) => {
            StepOutcome::Stuck(format!(
                "{own} was changed after {target} was created: make the same change in the target, set its \
                     annotation {GENERATION} to metadata.generation of the object, and resume; or undo"
            ))
        }
        ObservedObject::There(object) if text(object, "/metadata/uid") == uid => {
            carried(step, object, became, StepDirection::Done).unwrap_or_else(|| {
                step.gives_way((&pair.source, object), (&pair.target, text(became, "/metadata/uid"), Some(BECAME)))
            })
        }
        ObservedObject::Unknown(why) => StepOutcome::Waits(why),
        ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => {
            StepOutcome::Waits(format!("{own} is being deleted"))
        }
    }
}

/// The reason to keep an object: dependents of any resource.
pub(super) fn belongs(step: ObjectStepInput<'_>, uid: &str, called: &str) -> Option<String> {
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

/// True if an object is unchanged since its conversion.
fn is_of_generation(object: &Value, made: Option<&str>) -> bool {
    let now = object.pointer("/metadata/generation").map(Value::to_string);
    now.as_deref() == made
}

/// Lookups of saved state of a deleted object, and of its replacement.
pub(crate) fn leftover_lookups(rollout: &Rollout, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    let Some(pair) = rollout.pair.as_deref() else { return Vec::new() };
    let (namespace, name) = in_flight_object.place();
    let both = [&pair.source, &pair.target].map(|kind| LookupRequest::of_paired(kind, namespace, name));
    let saved = saves(rollout).then(|| saved_state_lookup(namespace, &in_flight_object.uid));
    saved.into_iter().chain(both).collect()
}

/// The next API call that removes leftovers of a deleted object. `None` without leftovers.
///
/// # Errors
/// The leftovers are unknown or terminating, as a message.
pub(crate) fn leftovers(
    rollout: &Rollout,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> Result<Option<ObjectWrite>, String> {
    let Some(pair) = rollout.pair.as_deref().filter(|_| saves(rollout)) else { return Ok(None) };
    let (namespace, name) = in_flight_object.place();
    match observed(answers, &LookupRequest::of_paired(&pair.source, namespace, name)) {
        ObservedObject::Unknown(why) => return Err(why),
        ObservedObject::There(object) | ObservedObject::Terminating(object)
            if text(object, "/metadata/uid") == in_flight_object.uid =>
        {
            return Err("exists".to_owned());
        }
        ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => {}
    }
    if let ObservedObject::Unknown(why) = observed(answers, &LookupRequest::of_paired(&pair.target, namespace, name)) {
        return Err(why);
    }
    if !is_replaced(rollout, in_flight_object, answers) {
        // The saved state may be the only copy of a Deployment.
        return Ok(None);
    }
    let saved = list(answers, &saved_state_lookup(namespace, &in_flight_object.uid))?;
    let Some(object) = saved.first() else { return Ok(None) };
    let revisions = revisions();
    let name = text(object, "/metadata/name").to_owned();
    if is_terminating(object) {
        return Err(format!("{revisions} {name} is being deleted"));
    }
    Ok(Some(ObjectWrite {
        plural: revisions.plural,
        group: revisions.group,
        version: None,
        cluster: None,
        namespace: namespace.map(str::to_owned),
        name,
        call: ObjectCall::Delete {
            uid: text(object, "/metadata/uid").to_owned(),
            resource_version: text(object, "/metadata/resourceVersion").to_owned(),
            propagation: Propagation::Background,
            replacement: None,
        },
        of: in_flight_object.object.clone(),
        uid: in_flight_object.uid.clone(),
    }))
}

/// The title of the first saved object of a deleted object.
pub(crate) fn kept_of(rollout: &Rollout, in_flight_object: &InFlightObject, answers: &LookupResults) -> Option<String> {
    let (namespace, _) = in_flight_object.place();
    let saved = list(answers, &saved_state_lookup(namespace, &in_flight_object.uid)).ok()?.first()?;
    let place = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    saves(rollout).then(|| format!("{} {place}{}", revisions(), text(saved, "/metadata/name")))
}

/// True if the replacement of a deleted object exists.
pub(crate) fn is_replaced(rollout: &Rollout, in_flight_object: &InFlightObject, answers: &LookupResults) -> bool {
    let Some(pair) = rollout.pair.as_deref() else { return false };
    let (namespace, name) = in_flight_object.place();
    let target = observed(answers, &LookupRequest::of_paired(&pair.target, namespace, name));
    matches!(target, ObservedObject::There(object) if annotation(object, BECAME) == Some(in_flight_object.uid.as_str()))
}

/// True if a step saves state that is obsolete once the object is deleted.
fn saves(rollout: &Rollout) -> bool {
    recreations(rollout.workflow_steps()).next().is_some()
}

fn saved_state_lookup(namespace: Option<&str>, uid: &str) -> LookupRequest {
    LookupRequest::of_metadata(&revisions(), namespace, &format!("{WORKFLOW_LABEL}={uid}"))
}

/// The resource of saved state.
pub(super) fn revisions() -> ResourceName {
    ResourceName { plural: "controllerrevisions".to_owned(), group: "apps".to_owned() }
}
