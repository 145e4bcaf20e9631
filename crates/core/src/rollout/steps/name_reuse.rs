//! An object beside what an earlier one of its name has become, such as one that was put back from a backup, or beside
//! what does not say any more of which object it was made: the new controller acts on the one, and nothing may be
//! undone by which the old one would act on the other.

use super::annotations::BECAME;
use super::observation::target_question;
use super::step_outcome::{ObjectStepInput, StepOutcome};
use super::observed_object::{ObservedObject, annotation};
use crate::definition::{ObjectAction, WorkflowStep};
use crate::rollout::lookup_request::LookupRequest;
use crate::rollout::step_context::StepContext;

/// What has to be looked up before a step is undone. Nothing where that comes after the object was made into another
/// one: such a step looks at that by itself.
pub(in crate::rollout) fn earlier_question(traveller: StepContext<'_>, step: usize) -> Option<LookupRequest> {
    let converts = |step: &WorkflowStep| step.beside().is_some_and(|beside| matches!(beside.act, ObjectAction::Convert));
    let is_after = traveller.steps().iter().take(step + 1).any(converts);
    target_question(traveller).filter(|_| !is_after && !traveller.legs.is_run)
}

/// Why a step is not undone: what is there was made of another object, or does not say of which.
pub(in crate::rollout) fn beside_earlier(step: ObjectStepInput<'_>) -> Option<StepOutcome> {
    let question = earlier_question(step.traveller, step.step)?;
    let (object, is_going) = match step.look(&question) {
        ObservedObject::Unknown(why) => return Some(StepOutcome::Waits(why)),
        ObservedObject::Absent => return None,
        ObservedObject::There(object) => (object, false),
        ObservedObject::Going(object) => (object, true),
    };
    let of = match annotation(object, BECAME) {
        Some(of) if of == step.uid() => return None,
        Some(_) => "was made of an earlier object of this name",
        None => "is there, and does not say of which object it was made",
    };
    if is_going {
        return Some(StepOutcome::Waits(format!("{question} is being deleted")));
    }
    Some(StepOutcome::Stuck(format!(
        "{question} {of}, and both controllers would act: take one of the two out of the way, and resume"
    )))
}
