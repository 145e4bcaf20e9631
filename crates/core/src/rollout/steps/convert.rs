//! A step that creates the replacement of an object.

use serde_json::{Map, Value, json};

use super::annotations::{BECAME, GENERATION, MADE_BY, RETURNED, SHARED};
use super::copied_metadata::carried;
use super::delete::belongs;
use super::object_write::ObjectCall;
use super::observation::{object_question, target_question};
use super::observed_object::{ObservedObject, annotation, goes, text};
use super::revert_preflight::{behind, behind_questions};
use super::step_outcome::{ObjectStepInput, StepOutcome};
use crate::definition::{StepDirection, StepObject};
use crate::rollout::kinds::SourceAndTargetKind;
use crate::rollout::lookup_request::LookupRequest;
use crate::rollout::lookup_results::ConversionOutcome;
use crate::rollout::shared_metadata::SharedMetadata;
use crate::rollout::step_context::StepContext;

pub(super) fn questions(traveller: StepContext<'_>, step: usize, way: StepDirection) -> Vec<LookupRequest> {
    let becoming = conversion_lookup(traveller).filter(|_| way == StepDirection::Done);
    let swept = swept(traveller).filter(|_| way == StepDirection::Undone);
    let belonging = swept.map(|uid| LookupRequest::of_referring(traveller.object.namespace(), uid));
    let behind = if way == StepDirection::Undone { behind_questions(traveller, step) } else { Vec::new() };
    let own = object_question(traveller, &StepObject::Source).filter(|_| way == StepDirection::Undone);
    target_question(traveller).into_iter().chain(becoming).chain(belonging).chain(behind).chain(own).collect()
}

/// The uid of the replacement from which the object was recreated: it may have gained dependents since.
fn swept(traveller: StepContext<'_>) -> Option<&str> {
    Some(traveller.object.mark_of(traveller.rollout)?.again.as_ref()?.target.as_str())
}

/// True if the replacement changed after the source was recreated.
fn is_changed(traveller: StepContext<'_>, target: &Value) -> bool {
    let now = target.pointer("/metadata/generation").map(Value::to_string);
    // The object records the generation too, in case another client removed the annotation.
    let again = traveller.object.mark_of(traveller.rollout).and_then(|mark| mark.again.as_ref());
    let then = annotation(target, RETURNED).map(str::to_owned);
    let then = then.or_else(|| again?.generation.map(|at| at.to_string()));
    then.is_some_and(|then| now != Some(then))
}

/// Lookup of the replacement's content.
pub(super) fn conversion_lookup(traveller: StepContext<'_>) -> Option<LookupRequest> {
    let pair = traveller.rollout.pair.as_deref()?;
    let object = traveller.object;
    Some(LookupRequest::of_replacement(
        &pair.source,
        object.namespace(),
        object.name(),
        object.uid(),
        &traveller.legs.facts,
    ))
}

pub(super) fn forward(step: ObjectStepInput<'_>) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_question(step.traveller)) else {
        return StepOutcome::Stuck("nobody knows what the object becomes".to_owned());
    };
    match step.look(&target) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Going(object) => return StepOutcome::Waits(goes(&target, object)),
        ObservedObject::There(object) if annotation(object, BECAME) == Some(step.uid()) => return StepOutcome::Done,
        ObservedObject::There(_) => {
            return StepOutcome::Stuck(format!(
                "{target} is there, and does not say that it was made of this object: where it was, set its annotation \
                 {BECAME} to {}; otherwise take it out of the way",
                step.uid()
            ));
        }
        ObservedObject::Absent => {}
    }
    let became = conversion_lookup(step.traveller).and_then(|question| step.answers.conversion_of(&question));
    match became {
        Some(ConversionOutcome::Object(object, generation)) => {
            let object = made_of(object, *generation, (step, pair));
            let (resource, version) = (&pair.target.resource, Some(pair.target.version()));
            step.next(resource, version, step.traveller.object.name(), ObjectCall::Create(object))
        }
        Some(ConversionOutcome::Refused(why)) => StepOutcome::Stuck(why.clone()),
        Some(ConversionOutcome::Waits(why)) => StepOutcome::Waits(why.clone()),
        None => StepOutcome::Waits(format!("nobody has looked what becomes {target}")),
    }
}

pub(super) fn back(step: ObjectStepInput<'_>) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_question(step.traveller)) else { return StepOutcome::Done };
    match step.look(&target) {
        ObservedObject::Unknown(why) => StepOutcome::Waits(why),
        ObservedObject::Going(object) => StepOutcome::Waits(goes(&target, object)),
        // Its dependents stay: the old controller adopts them.
        ObservedObject::There(object) if annotation(object, BECAME) == Some(step.uid()) => {
            let uid = text(object, "/metadata/uid");
            let swept = swept(step.traveller).filter(|swept| *swept == uid);
            if let Some(why) = swept.and_then(|uid| belongs(step, uid, &target.to_string())) {
                return StepOutcome::Waits(why);
            }
            if swept.is_some() && is_changed(step.traveller, object) {
                return StepOutcome::Stuck(format!(
                    "{target} was changed after the object was made anew of it: make the same change there, set its \
                     annotation {RETURNED} to its metadata.generation, and resume"
                ));
            }
            behind(step)
                .or_else(|| given_back(step, object))
                .unwrap_or_else(|| step.gives_way((&pair.target, object), (&pair.source, step.uid(), None)))
        }
        ObservedObject::There(object) => not_ours(step, &target, object),
        ObservedObject::Absent => StepOutcome::Done,
    }
}

/// Copies changed labels and annotations of the replacement to the object.
fn given_back(step: ObjectStepInput<'_>, became: &Value) -> Option<StepOutcome> {
    match step.look(&object_question(step.traveller, &StepObject::Source)?) {
        ObservedObject::Unknown(why) => Some(StepOutcome::Waits(why)),
        ObservedObject::There(own) if text(own, "/metadata/uid") == step.uid() => {
            carried(step, became, own, StepDirection::Undone)
        }
        // The object is terminating too, or is another one.
        ObservedObject::There(_) | ObservedObject::Going(_) | ObservedObject::Absent => None,
    }
}

/// The result of a revert if another client owns the replacement, or removed its annotation: both controllers would
/// act.
pub(super) fn not_ours(step: ObjectStepInput<'_>, target: &LookupRequest, object: &Value) -> StepOutcome {
    // A replacement of an earlier object of this name belongs to the new controller regardless.
    let is_of_another = annotation(object, BECAME).is_some();
    if step.step >= step.traveller.leg.done && !is_of_another {
        return StepOutcome::Done;
    }
    StepOutcome::Stuck(format!(
        "{target} does not say that it was made of this object, and both controllers would act: where it was, set its \
         annotation {BECAME} to {}, and it goes, with whatever was changed of it; otherwise take it out of the way; then \
         resume",
        step.uid()
    ))
}

/// The replacement, with annotations about its source.
fn made_of(
    object: &Value,
    generation: Option<i64>,
    (step, pair): (ObjectStepInput<'_>, &SourceAndTargetKind),
) -> Value {
    let (shared, mut object) = (SharedMetadata::of(object, pair), object.clone());
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(BECAME.to_owned(), json!(step.uid()));
            annotations.extend(generation.map(|at| (GENERATION.to_owned(), json!(at.to_string()))));
            annotations.extend(step.traveller.made_by().map(|text| (MADE_BY.to_owned(), json!(text))));
            annotations.extend(shared.told().map(|text| (SHARED.to_owned(), text)));
        }
    }
    object
}
