//! A step that creates the replacement of an object.

use crate::definition::workflows::{ObjectAction, StepDirection, StepObject, WorkflowStep};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::{ConversionOutcome, LookupResults};
use crate::observe::rollout_annotation::SharedMetadata;
use crate::spec::kinds::SourceAndTargetKind;
use crate::steps::context::StepContext;
use crate::steps::objects::copied_metadata::carried;
use crate::steps::objects::dependents::belongs;
use crate::steps::objects::observed_object::{
    BECAME, GENERATION, MADE_BY, ObservedObject, RETURNED, SHARED, annotation, object_lookup, observed, target_lookup,
    terminating_message, text,
};
use crate::steps::objects::obstacles::PodSet;
use crate::steps::outcome::{ObjectStepInput, PreflightFailure, StepOutcome};
use crate::steps::revert_preflight::{behind, revert_preflight_lookups};
use crate::steps::step_action::{Right, RightsInput, StepAction, resource};
use crate::steps::writes::object_write::ObjectCall;
use pointsman_core::apimachinery::ResourceName;
use serde_json::{Map, Value, json};

/// Creates the replacement.
pub(in crate::steps) struct Convert;

impl StepAction for Convert {
    fn lookups(&self, context: StepContext<'_>, step: usize, way: StepDirection) -> Vec<LookupRequest> {
        let becoming = conversion_lookup(context).filter(|_| way == StepDirection::Done);
        let swept = swept(context).filter(|_| way == StepDirection::Undone);
        let belonging = swept.map(|uid| LookupRequest::of_referring(context.object.namespace(), uid));
        let behind = if way == StepDirection::Undone { revert_preflight_lookups(context, step) } else { Vec::new() };
        let own = object_lookup(context, &StepObject::Source).filter(|_| way == StepDirection::Undone);
        target_lookup(context).into_iter().chain(becoming).chain(belonging).chain(behind).chain(own).collect()
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step)
    }

    fn back(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        back(step)
    }

    fn preflight_lookups(&self, context: StepContext<'_>) -> Vec<LookupRequest> {
        target_lookup(context).into_iter().chain(conversion_lookup(context)).collect()
    }

    fn preflight(&self, context: StepContext<'_>, answers: &LookupResults, _: &[PodSet]) -> Option<PreflightFailure> {
        preflight(context, answers)
    }

    fn rights(&self, of: RightsInput<'_>) -> Vec<Right> {
        let some = |resource: Option<ResourceName>, verbs: &'static [&'static str]| resource.map(|it| (it, verbs));
        let has_facts = of.pair.is_some_and(|pair| !pair.facts.is_empty());
        let refusals = of.source().filter(|_| of.pair.is_some_and(SourceAndTargetKind::writes_refusals));
        let all = [
            some(of.target(), &["get", "create", "delete"]),
            // A revert reads the object before it deletes the replacement.
            some(of.source(), &["get"]),
            some(has_facts.then(|| resource("secrets", "")), &["get"]),
            some(refusals.map(|source| resource(&format!("{}/status", source.plural), &source.group)), &["patch"]),
        ];
        all.into_iter().flatten().collect()
    }

    fn description(&self, target: &str) -> String {
        format!("makes its {target}")
    }
}

/// The reason why the replacement cannot be created, or not yet.
fn preflight(context: StepContext<'_>, answers: &LookupResults) -> Option<PreflightFailure> {
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

/// The uid of the replacement from which the object was recreated: it may have gained dependents since.
fn swept(context: StepContext<'_>) -> Option<&str> {
    Some(context.object.annotation_of(context.rollout)?.again.as_ref()?.target.as_str())
}

/// True if the replacement changed after the source was recreated.
fn is_changed(context: StepContext<'_>, target: &Value) -> bool {
    let now = target.pointer("/metadata/generation").map(Value::to_string);
    // The object records the generation too, in case another client removed the annotation.
    let again = context.object.annotation_of(context.rollout).and_then(|mark| mark.again.as_ref());
    let then = annotation(target, RETURNED).map(str::to_owned);
    let then = then.or_else(|| again?.generation.map(|at| at.to_string()));
    then.is_some_and(|then| now != Some(then))
}

/// Lookup of the replacement's content.
pub(in crate::steps) fn conversion_lookup(context: StepContext<'_>) -> Option<LookupRequest> {
    let pair = context.rollout.pair.as_deref()?;
    let object = context.object;
    Some(LookupRequest::of_replacement(
        &pair.source,
        object.namespace(),
        object.name(),
        object.uid(),
        &context.object_progress.facts,
    ))
}

fn forward(step: ObjectStepInput<'_>) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_lookup(step.context)) else {
        return StepOutcome::Stuck("the replacement of the object is unknown".to_owned());
    };
    match step.observed(&target) {
        ObservedObject::Unknown(why) => return StepOutcome::Waits(why),
        ObservedObject::Terminating(object) => return StepOutcome::Waits(terminating_message(&target, object)),
        ObservedObject::There(object) if annotation(object, BECAME) == Some(step.uid()) => return StepOutcome::Done,
        ObservedObject::There(_) => {
            return StepOutcome::Stuck(format!(
                "{target} exists, but was not created from this object according to its annotations: if this is \
                     its replacement, set its annotation {BECAME} to {}; otherwise rename or delete it",
                step.uid()
            ));
        }
        ObservedObject::Absent => {}
    }
    let became = conversion_lookup(step.context).and_then(|lookup| step.answers.conversion_of(&lookup));
    match became {
        Some(ConversionOutcome::Object(object, generation)) => {
            let object = made_of(object, *generation, (step, pair));
            let (resource, version) = (&pair.target.resource, Some(pair.target.version()));
            step.next(resource, version, step.context.object.name(), ObjectCall::Create(object))
        }
        Some(ConversionOutcome::Refused(why)) => StepOutcome::Stuck(why.clone()),
        Some(ConversionOutcome::Waits(why)) => StepOutcome::Waits(why.clone()),
        None => StepOutcome::Waits(format!("{target} was not converted yet")),
    }
}

fn back(step: ObjectStepInput<'_>) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_lookup(step.context)) else { return StepOutcome::Done };
    match step.observed(&target) {
        ObservedObject::Unknown(why) => StepOutcome::Waits(why),
        ObservedObject::Terminating(object) => StepOutcome::Waits(terminating_message(&target, object)),
        // Its dependents stay: the old controller adopts them.
        ObservedObject::There(object) if annotation(object, BECAME) == Some(step.uid()) => {
            let uid = text(object, "/metadata/uid");
            let swept = swept(step.context).filter(|swept| *swept == uid);
            if let Some(why) = swept.and_then(|uid| belongs(step, uid, &target.to_string())) {
                return StepOutcome::Waits(why);
            }
            if swept.is_some() && is_changed(step.context, object) {
                return StepOutcome::Stuck(format!(
                    "{target} was changed after the object was recreated: make the same change in the object, \
                         set annotation {RETURNED} of {target} to its metadata.generation, and resume"
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
    match step.observed(&object_lookup(step.context, &StepObject::Source)?) {
        ObservedObject::Unknown(why) => Some(StepOutcome::Waits(why)),
        ObservedObject::There(own) if text(own, "/metadata/uid") == step.uid() => {
            carried(step, became, own, StepDirection::Undone)
        }
        // The object is terminating too, or is another one.
        ObservedObject::There(_) | ObservedObject::Terminating(_) | ObservedObject::Absent => None,
    }
}

/// The result of a revert if another client owns the replacement, or removed its annotation: both controllers would
/// act.
pub(in crate::steps) fn not_ours(step: ObjectStepInput<'_>, target: &LookupRequest, object: &Value) -> StepOutcome {
    // A replacement of an earlier object of this name belongs to the new controller regardless.
    let is_of_another = annotation(object, BECAME).is_some();
    if step.step >= step.context.wave_progress.done && !is_of_another {
        return StepOutcome::Done;
    }
    StepOutcome::Stuck(format!(
        "{target} was not created from this object according to its annotations, and both controllers would \
             act: if this is its replacement, set its annotation {BECAME} to {}, which deletes it with its changes; \
             otherwise rename or delete it; then resume",
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
            annotations.extend(step.context.made_by().map(|text| (MADE_BY.to_owned(), json!(text))));
            annotations.extend(shared.to_annotation().map(|text| (SHARED.to_owned(), text)));
        }
    }
    object
}

/// The lookup before a step is reverted. `None` for steps after the conversion, which check the replacement themselves.
pub(crate) fn name_reuse_lookup(context: StepContext<'_>, step: usize) -> Option<LookupRequest> {
    let converts = |step: &WorkflowStep| {
        step.object_step().is_some_and(|object_step| matches!(object_step.act, ObjectAction::Convert))
    };
    let is_after = context.steps().iter().take(step + 1).any(converts);
    target_lookup(context).filter(|_| !is_after && !context.object_progress.is_run)
}

/// The reason why a step is not reverted: the replacement has another source, or lacks the annotation.
pub(crate) fn conflicting_replacement_outcome(step: ObjectStepInput<'_>) -> Option<StepOutcome> {
    let lookup = name_reuse_lookup(step.context, step.step)?;
    let (object, is_terminating) = match step.observed(&lookup) {
        ObservedObject::Unknown(why) => return Some(StepOutcome::Waits(why)),
        ObservedObject::Absent => return None,
        ObservedObject::There(object) => (object, false),
        ObservedObject::Terminating(object) => (object, true),
    };
    let of = match annotation(object, BECAME) {
        Some(of) if of == step.uid() => return None,
        Some(_) => "was created from an earlier object of this name",
        None => "exists, but its annotations name no source object",
    };
    if is_terminating {
        return Some(StepOutcome::Waits(format!("{lookup} is being deleted")));
    }
    Some(StepOutcome::Stuck(format!(
        "{lookup} {of}, and both controllers would act: rename or delete one of the two, and resume"
    )))
}
