//! The rollback of a deleted source object: it is recreated from its replacement, then its steps are reverted as usual.

use serde_json::{Map, Value, json};

use super::context::StepContext;
use super::objects::observed_object::{
    BECAME, FIRST_GENERATION, GENERATION, ObservedObject, RETURNED, annotation, object_lookup, target_lookup,
    terminating_message, text,
};
use super::outcome::{ObjectStepInput, StepOutcome};
use super::revert_preflight::{behind, revert_preflight_lookups};
use super::writes::object_write::ObjectCall;
use crate::definition::workflows::StepObject;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::ConversionOutcome;
use crate::observe::observed_field::{pointer, test};
use crate::observe::rollout_annotation::{ANNOTATION, RolloutAnnotation, SharedMetadata};
use crate::observe::status::InFlightObject;
use crate::spec::rollout::Rollout;
use pointsman_core::definition::Path;

/// Lookups for an object to recreate.
pub(crate) fn recreation_lookups(rollout: &Rollout, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    let (Some(pair), Some(target)) = (rollout.pair.as_deref(), in_flight_object.target.as_deref()) else {
        return Vec::new();
    };
    let (namespace, name) = in_flight_object.place();
    let both = [&pair.source, &pair.target].map(|kind| LookupRequest::of_paired(kind, namespace, name));
    both.into_iter().chain([LookupRequest::of_replacement(&pair.target, namespace, name, target, &[])]).collect()
}

/// Lookups for a recreated object that its replacement does not name yet.
pub(super) fn lookups(context: StepContext<'_>, step: usize) -> Vec<LookupRequest> {
    target_lookup(context).into_iter().chain(revert_preflight_lookups(context, step)).collect()
}

/// Recreates the object, then updates the annotation of the replacement. The preflight runs before further reverts.
pub(super) fn back(step: ObjectStepInput<'_>) -> StepOutcome {
    match &step.context.object.replacement_uid {
        Some(target) => recreated_source(step, target),
        None => relinked(step).or_else(|| behind(step)).unwrap_or(StepOutcome::Done),
    }
}

fn recreated_source(step: ObjectStepInput<'_>, target: &str) -> StepOutcome {
    let object = step.context.object;
    let own = object_lookup(step.context, &StepObject::Source);
    let (Some(pair), Some(own), Some(became)) = (step.pair(), own, target_lookup(step.context)) else {
        return StepOutcome::Stuck("the replacement of the object is unknown".to_owned());
    };
    match step.observed(&own) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(object) => return StepOutcome::Waits(terminating_message(&own, object)),
        ObservedObject::There(found) if is_recreation_of(found, object.uid()) => {
            return StepOutcome::Waits(format!("{own} is recreated"));
        }
        ObservedObject::There(_) => {
            return StepOutcome::Stuck(format!("another client created {own}: check it, and rename or delete it"));
        }
        ObservedObject::Absent => {}
    }
    match step.observed(&became) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::There(found) if text(found, "/metadata/uid") == target => {}
        ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => {
            return StepOutcome::Waits(format!("{became}, which was created from the object, does not exist"));
        }
    }
    let lookup = LookupRequest::of_replacement(&pair.target, step.namespace(), object.name(), target, &[]);
    match step.answers.conversion_of(&lookup) {
        Some(ConversionOutcome::Object(made, generation)) => {
            let shared = SharedMetadata::of(made, pair);
            let made = marked(step, made, (target, *generation, shared));
            step.next(&pair.source.resource, Some(pair.source.version()), object.name(), ObjectCall::Create(made))
        }
        Some(ConversionOutcome::Refused(why)) => StepOutcome::Stuck(format!("{became}: {why}")),
        Some(ConversionOutcome::Waits(why)) => StepOutcome::Waits(why.clone()),
        None => StepOutcome::Waits(format!("{became} was not converted back yet")),
    }
}

/// True if an object was recreated in place of this one.
fn is_recreation_of(object: &Value, uid: &str) -> bool {
    let again = annotation(object, ANNOTATION).and_then(RolloutAnnotation::read).and_then(|mark| mark.again);
    again.is_some_and(|again| again.of == uid)
}

/// The object as of its deletion: with field values from steps, so that no controller acts on it yet, and with the
/// annotation for the next reverts.
fn marked(
    step: ObjectStepInput<'_>,
    object: &Value,
    (target, generation, shared): (&str, Option<i64>, SharedMetadata),
) -> Value {
    let mut object = object.clone();
    for (field, value) in step.context.left() {
        put(&mut object, &field, value);
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return object };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    let mark = step
        .context
        .recreated_annotation(target, generation, shared)
        .and_then(|mark| serde_json::to_string(&mark).ok());
    if let (Some(annotations), Some(mark)) = (annotations.as_object_mut(), mark) {
        annotations.insert(ANNOTATION.to_owned(), json!(mark));
    }
    object
}

/// Sets a field including missing parents, or removes it.
fn put(object: &mut Value, field: &Path, value: Option<Value>) {
    let Some((last, holders)) = field.names().split_last() else { return };
    let mut at = object;
    for name in holders {
        let Some(members) = at.as_object_mut() else { return };
        if value.is_none() && !members.contains_key(name.as_ref()) {
            return;
        }
        at = members.entry(name.as_ref()).or_insert_with(|| Value::Object(Map::new()));
    }
    let Some(members) = at.as_object_mut() else { return };
    match value {
        Some(value) => drop(members.insert(last.to_string(), value)),
        None => drop(members.remove(last.as_ref())),
    }
}

/// The replacement, if it exists and refers to this object. For a recreated object that moves forward again, the
/// reference is updated first.
pub(super) fn linked<'a>(step: ObjectStepInput<'a>, target: &LookupRequest) -> Result<&'a Value, StepOutcome> {
    if let Some(relinked) = relinked(step) {
        return Err(relinked);
    }
    Err(StepOutcome::Waits(match step.observed(target) {
        ObservedObject::Unknown(why) => why,
        ObservedObject::There(object) if annotation(object, BECAME) == Some(step.uid()) => return Ok(object),
        ObservedObject::There(_) => format!(
            "{target} was not created from this object according to its annotations: set its annotation \
                 {BECAME} to {}, or undo",
            step.uid()
        ),
        ObservedObject::Terminating(object) => terminating_message(target, object),
        ObservedObject::Absent => format!("{target}, which was created from this object, does not exist"),
    }))
}

/// The patch that makes a replacement refer to the recreated object. `None` if it does already, or has another source.
pub(super) fn relinked(step: ObjectStepInput<'_>) -> Option<StepOutcome> {
    let again = step.context.object.annotation_of(step.context.rollout)?.again.as_ref()?;
    let (pair, target) = (step.pair()?, target_lookup(step.context)?);
    let found = match step.observed(&target) {
        ObservedObject::Unknown(why) => return Some(StepOutcome::Waits(why)),
        ObservedObject::Absent => return None,
        ObservedObject::There(object) | ObservedObject::Terminating(object) => object,
    };
    if annotation(found, BECAME) != Some(again.of.as_str()) {
        return None;
    }
    let path = |name: &str| pointer("annotations", name);
    let mut patch = vec![
        test("/metadata/uid", json!(text(found, "/metadata/uid"))),
        test(&path(BECAME), json!(again.of)),
        json!({"op": "replace", "path": path(BECAME), "value": step.uid()}),
        json!({"op": "add", "path": path(GENERATION), "value": FIRST_GENERATION}),
    ];
    let returned = again.generation.map(|at| json!({"op": "add", "path": path(RETURNED), "value": at.to_string()}));
    patch.extend(returned);
    let (resource, version) = (&pair.target.resource, Some(pair.target.version()));
    Some(step.next(resource, version, text(found, "/metadata/name"), ObjectCall::Patch(Value::Array(patch))))
}
