//! A step that transfers dependents of an object to its replacement, by owner references.

use serde_json::Value;

use super::convert::not_ours;
use crate::definition::workflows::StepDirection;
use crate::lookup::request::{LookupRequest, PairedKind};
use crate::steps::context::StepContext;
use crate::steps::objects::observed_object::{
    BECAME, ObservedObject, annotation, hand_over, is_terminating, list, place, target_lookup, text,
};
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::revert::linked;
use crate::steps::step_action::{Right, RightsInput, StepAction, finalizers};
use crate::steps::writes::object_write::ObjectCall;
use pointsman_core::apimachinery::ResourceName;

/// Transfers the dependents of these resources.
pub(in crate::steps) struct Adopt<'a>(pub(in crate::steps) &'a [ResourceName]);

impl StepAction for Adopt<'_> {
    fn lookups(&self, context: StepContext<'_>, _: usize, _: StepDirection) -> Vec<LookupRequest> {
        let owned = self.0.iter().map(|resource| owned(context, resource));
        target_lookup(context).into_iter().chain(owned).collect()
    }

    fn forward(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        forward(step, self.0)
    }

    fn back(&self, step: ObjectStepInput<'_>) -> StepOutcome {
        back(step, self.0)
    }

    fn rights(&self, of: RightsInput<'_>) -> Vec<Right> {
        let verbs = if of.is_guarded() { &["list", "patch", "delete"][..] } else { &["list", "patch"] };
        let mut all: Vec<Right> = self.0.iter().map(|resource| (resource.clone(), verbs)).collect();
        all.extend(of.target().map(|target| (target, &["get"][..])));
        if of.is_guarded() {
            all.extend(of.source().iter().chain(&of.target()).map(finalizers));
        }
        all
    }

    fn description(&self, target: &str) -> String {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        format!("transfers the dependents of {} to its {target}", all.join(", "))
    }
}

/// The replacement has the same name as the object.
fn owned(context: StepContext<'_>, resource: &ResourceName) -> LookupRequest {
    LookupRequest::of_owned(resource, context.object.namespace(), context.object.name())
}

fn forward(step: ObjectStepInput<'_>, resources: &[ResourceName]) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_lookup(step.context)) else {
        return StepOutcome::Stuck("the replacement of the object is unknown".to_owned());
    };
    match linked(step, &target) {
        Ok(object) => {
            let to = (&pair.target, text(object, "/metadata/name"), text(object, "/metadata/uid"));
            hand_all_over(step, resources, step.uid(), to)
        }
        Err(not_yet) => not_yet,
    }
}

fn back(step: ObjectStepInput<'_>, resources: &[ResourceName]) -> StepOutcome {
    let (Some(pair), Some(target)) = (step.pair(), target_lookup(step.context)) else { return StepOutcome::Done };
    match step.observed(&target) {
        // A terminating object would take its dependents along.
        ObservedObject::There(object) | ObservedObject::Terminating(object)
            if annotation(object, BECAME) == Some(step.uid()) =>
        {
            let to = (&pair.source, step.context.object.name(), step.uid());
            hand_all_over(step, resources, text(object, "/metadata/uid"), to)
        }
        ObservedObject::Unknown(why) => StepOutcome::Waits(why),
        ObservedObject::There(object) => not_ours(step, &target, object),
        // A missing object has no dependents.
        ObservedObject::Terminating(_) | ObservedObject::Absent => StepOutcome::Done,
    }
}

/// Transfers the first dependent that still refers to the earlier owner.
fn hand_all_over(
    step: ObjectStepInput<'_>,
    resources: &[ResourceName],
    from: &str,
    to: (&PairedKind, &str, &str),
) -> StepOutcome {
    for resource in resources {
        let all = match list(step.answers, &owned(step.context, resource)) {
            Ok(all) => all,
            Err(why) => return StepOutcome::Waits(why),
        };
        let is_its = |object: &&Value| !is_terminating(object) && place(object, from).is_some();
        let Some(object) = all.iter().find(is_its) else { continue };
        if let Some(patch) = hand_over(object, from, to) {
            return step.next(resource, None, text(object, "/metadata/name"), ObjectCall::Patch(patch));
        }
    }
    StepOutcome::Done
}
