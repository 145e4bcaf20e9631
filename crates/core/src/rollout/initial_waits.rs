//! Waits and conditional steps at the start of a workflow. An object that waits there has not begun: it uses no budget,
//! and later objects overtake it.

use super::lookup_request::LookupRequest;
use super::lookup_results::LookupResults;
use super::mutation_state::MutationState;
use super::step_context::StepContext;
use super::steps::{self, ObjectStepInput, StepOutcome, list};
use crate::definition::{ObjectAction, StepDirection, WorkflowAct, WorkflowStep};

/// Whether a step applies to an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum StepApplicability {
    Yes,
    No,
    /// Unknown, with the reason.
    Unknown(String),
}

/// The lookup that determines whether a step applies.
pub(super) fn if_any_question(traveller: StepContext<'_>, step: &WorkflowStep) -> Option<LookupRequest> {
    let list = step.if_any.as_ref()?;
    Some(LookupRequest::of_all_at(&list.resource, &traveller.place_of(&list.place)))
}

/// Whether a step applies to an object.
pub(super) fn applies(traveller: StepContext<'_>, step: &WorkflowStep, answers: &LookupResults) -> StepApplicability {
    let Some(question) = if_any_question(traveller, step) else { return StepApplicability::Yes };
    match list(answers, &question) {
        Ok([]) => match had_any(traveller, &question) {
            Some(before) => StepApplicability::Unknown(format!(
                "there is none of {question} any more, and there was when step {before} was done: one that is empty for a \
                 moment says nothing"
            )),
            None => of_nobody(traveller, step, answers),
        },
        Ok(_) => StepApplicability::Yes,
        Err(why) => StepApplicability::Unknown(why),
    }
}

/// An applied step with the same, then nonempty list. A step that applied continues to apply in the middle of a
/// workflow.
fn had_any<'a>(traveller: StepContext<'a>, question: &LookupRequest) -> Option<&'a str> {
    let mut before = traveller.steps().iter().enumerate().take(traveller.leg.done);
    let is_of_it = |step: &WorkflowStep| if_any_question(traveller, step).is_some_and(|one| one.is_same(question));
    let (_, step) = before.find(|(at, step)| is_of_it(step) && !traveller.was_by_hand(*at))?;
    Some(&step.name)
}

/// Whether a step with an empty list applies. The list may be empty for a moment, or refer to the wrong location: the
/// step still applies while one of its named objects exists.
fn of_nobody(traveller: StepContext<'_>, step: &WorkflowStep, answers: &LookupResults) -> StepApplicability {
    let WorkflowAct::Beside(of) = &step.act else { return StepApplicability::No };
    let ObjectAction::Readmit(readmission) = &of.act else { return StepApplicability::No };
    for question in steps::readmitted(traveller, readmission) {
        match answers.mutated_of(&question) {
            Some(MutationState::Absent) => {}
            Some(_) => return StepApplicability::Yes,
            None => return StepApplicability::Unknown(format!("nobody has looked at {question}")),
        }
    }
    StepApplicability::No
}

/// Lookups before an object begins: the conditions of its first steps, except for those already unmet in the object
/// itself.
pub(super) fn leading_questions(traveller: StepContext<'_>) -> Vec<LookupRequest> {
    let mut questions = Vec::new();
    // A list that determines an unmet wait: later waits with the same list need no lookup.
    let mut shut: Option<LookupRequest> = None;
    for (at, step) in traveller.steps().iter().enumerate() {
        let only = if_any_question(traveller, step);
        let is_behind = match (&shut, &only) {
            (Some(shut), Some(only)) => shut.is_same(only),
            _ => false,
        };
        questions.extend(only.clone().filter(|_| !is_behind));
        match &step.act {
            _ if is_behind && step.is_wait() => {}
            WorkflowAct::Wait { .. } if traveller.leg.unmet(at, StepDirection::Done).is_some() => match only {
                None => break,
                only => shut = shut.or(only),
            },
            WorkflowAct::Wait { .. } => {}
            WorkflowAct::Beside(other) if other.act.is_wait() => {
                questions.extend(steps::step_questions(traveller, &other.act, at, StepDirection::Done));
            }
            _ => break,
        }
    }
    questions
}

/// The unmet wait of an object that has not begun, as a message.
pub(super) fn leading_wait(traveller: StepContext<'_>, answers: &LookupResults) -> Option<String> {
    if traveller.leg.done > 0 {
        return None;
    }
    for (at, step) in traveller.steps().iter().enumerate() {
        let told = |why: String| Some(format!("step {}: {why}", step.name));
        match applies(traveller, step, answers) {
            StepApplicability::Unknown(why) => return told(why),
            StepApplicability::No => continue,
            StepApplicability::Yes => {}
        }
        match &step.act {
            WorkflowAct::Wait { .. } => {
                if let Some(why) = traveller.leg.unmet(at, StepDirection::Done) {
                    return told(why.to_owned());
                }
            }
            WorkflowAct::Beside(other) if other.act.is_wait() => {
                match steps::progress(ObjectStepInput { traveller, step: at, answers }, &other.act, StepDirection::Done)
                {
                    StepOutcome::Waits(why) | StepOutcome::Away(why) | StepOutcome::Stuck(why) => return told(why),
                    StepOutcome::Done | StepOutcome::ByHand | StepOutcome::Next(_) => {}
                }
            }
            _ => return None,
        }
    }
    None
}
