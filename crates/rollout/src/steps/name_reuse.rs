//! An object that exists along with the replacement of an earlier object of its name (such as one restored from a
//! backup), or along with a replacement without annotation. The new controller acts on the replacement, so no revert
//! may let the old one act on the object.

use super::annotations::BECAME;
use super::context::StepContext;
use super::observation::target_lookup;
use super::observed_object::{ObservedObject, annotation};
use super::step_outcome::{ObjectStepInput, StepOutcome};
use crate::lookup::request::LookupRequest;
use pointsman_core::definition::{ObjectAction, WorkflowStep};

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
