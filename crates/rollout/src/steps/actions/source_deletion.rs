//! The last step: deletes the object of the rollout, whose replacement exists.

use serde_json::Value;

use crate::definition::workflows::{StepDirection, StepObject};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::steps::context::StepContext;
use crate::steps::objects::copied_metadata::carried;
use crate::steps::objects::dependents::belongs;
use crate::steps::objects::observed_object::{
    BECAME, GENERATION, ObservedObject, annotation, object_lookup, target_lookup, text,
};
use crate::steps::objects::obstacles::PodSet;
use crate::steps::outcome::{ObjectStepInput, PreflightFailure, StepOutcome};
use crate::steps::revert;
use crate::steps::revert::linked;
use crate::steps::step_action::{Right, RightsInput, StepAction, resource};

/// Deletes the object itself, and orphans its dependents.
pub(in crate::steps) struct DeleteSource;

impl StepAction for DeleteSource {
    fn lookups(&self, context: StepContext<'_>, step: usize, way: StepDirection) -> Vec<LookupRequest> {
        if way == StepDirection::Undone {
            return revert::lookups(context, step);
        }
        let sweep = LookupRequest::of_referring(context.object.namespace(), context.object.uid());
        // The object is read last, to shorten the time before its deletion.
        let own = object_lookup(context, &StepObject::Source);
        target_lookup(context).into_iter().chain([sweep]).chain(own).collect()
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step)
    }

    fn back(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        revert::back(step)
    }

    fn preflight(&self, context: StepContext<'_>, _: &LookupResults, _: &[PodSet]) -> Option<PreflightFailure> {
        made_again(context)
    }

    /// Dependents are searched among all resources of the namespace, by metadata. The replacement receives changed
    /// labels of the object, and a write before the deletion.
    fn rights(&self, of: RightsInput<'_>) -> Vec<Right> {
        let source = of.source().map(|source| (source, &["get", "delete"][..]));
        let target = of.target().map(|target| (target, &["get", "patch"][..]));
        source.into_iter().chain(target).chain([(resource("*", "*"), &["list"][..])]).collect()
    }

    fn description(&self, _: &str) -> String {
        "deletes the object without its dependents".to_owned()
    }
}

/// Deletes the object if its replacement exists and no dependents are left.
fn forward(step: ObjectStepInput<'_>) -> StepOutcome {
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

/// True if an object is unchanged since its conversion.
fn is_of_generation(object: &Value, made: Option<&str>) -> bool {
    let now = object.pointer("/metadata/generation").map(Value::to_string);
    now.as_deref() == made
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
