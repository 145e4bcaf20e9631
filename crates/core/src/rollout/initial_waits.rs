//! What a workflow begins with: waits, and steps that are for some objects alone. An object that waits there has not
//! begun. It takes no place among those under way, however long that lasts, and others go before it.

use super::answers::RolloutAnswers;
use super::beside::{self, Beside, StepProgress, list};
use super::mutation_state::Staged;
use super::questions::RolloutQuestion;
use super::traveller::Traveller;
use crate::definition::{BesideAct, WorkflowAct, WorkflowStep, StepWay};

/// Whether a step is for an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Applies {
    Yes,
    No,
    /// Nobody knows, and why.
    Unknown(String),
}

/// What tells whether a step is for an object.
pub(super) fn if_any_question(traveller: Traveller<'_>, step: &WorkflowStep) -> Option<RolloutQuestion> {
    let list = step.if_any.as_ref()?;
    Some(RolloutQuestion::of_all_at(&list.resource, &traveller.place_of(&list.place)))
}

/// Whether a step is for an object.
pub(super) fn applies(traveller: Traveller<'_>, step: &WorkflowStep, answers: &RolloutAnswers) -> Applies {
    let Some(question) = if_any_question(traveller, step) else { return Applies::Yes };
    match list(answers, &question) {
        Ok([]) => match had_any(traveller, &question) {
            Some(before) => Applies::Unknown(format!(
                "there is none of {question} any more, and there was when step {before} was done: one that is empty for a \
                 moment says nothing"
            )),
            None => of_nobody(traveller, step, answers),
        },
        Ok(_) => Applies::Yes,
        Err(why) => Applies::Unknown(why),
    }
}

/// A step that was done since something was in this list. What is for an object does not stop to be in the middle of
/// its workflow.
fn had_any<'a>(traveller: Traveller<'a>, question: &RolloutQuestion) -> Option<&'a str> {
    let mut before = traveller.steps().iter().enumerate().take(traveller.leg.done);
    let is_of_it = |step: &WorkflowStep| if_any_question(traveller, step).is_some_and(|one| one.is_same(question));
    let (_, step) = before.find(|(at, step)| is_of_it(step) && !traveller.was_by_hand(*at))?;
    Some(&step.name)
}

/// Whether a step is for an object whose list is empty. A list may be empty for a moment, or be asked for in the wrong
/// place: nobody counts as handed over while one of the objects is there that would have to be.
fn of_nobody(traveller: Traveller<'_>, step: &WorkflowStep, answers: &RolloutAnswers) -> Applies {
    let WorkflowAct::Beside(of) = &step.act else { return Applies::No };
    let BesideAct::Readmit(readmission) = &of.act else { return Applies::No };
    for question in beside::readmitted(traveller, readmission) {
        match answers.staged_of(&question) {
            Some(Staged::Absent) => {}
            Some(_) => return Applies::Yes,
            None => return Applies::Unknown(format!("nobody has looked at {question}")),
        }
    }
    Applies::No
}

/// What has to be looked up before an object begins: what its first steps wait for, as far as the object itself does
/// not say that it waits.
pub(super) fn leading_questions(traveller: Traveller<'_>) -> Vec<RolloutQuestion> {
    let mut questions = Vec::new();
    // A list that tells whether something is waited for that does not hold: what comes after that for the same objects
    // need not be known.
    let mut shut: Option<RolloutQuestion> = None;
    for (at, step) in traveller.steps().iter().enumerate() {
        let only = if_any_question(traveller, step);
        let is_behind = match (&shut, &only) {
            (Some(shut), Some(only)) => shut.is_same(only),
            _ => false,
        };
        questions.extend(only.clone().filter(|_| !is_behind));
        match &step.act {
            _ if is_behind && step.is_wait() => {}
            WorkflowAct::Wait { .. } if traveller.leg.unmet(at, StepWay::Done).is_some() => match only {
                None => break,
                only => shut = shut.or(only),
            },
            WorkflowAct::Wait { .. } => {}
            WorkflowAct::Beside(other) if other.act.is_wait() => {
                questions.extend(beside::step_questions(traveller, &other.act, at, StepWay::Done));
            }
            _ => break,
        }
    }
    questions
}

/// What an object waits for that has not begun, in words: its first steps are waits, and one of them does not hold.
pub(super) fn leading_wait(traveller: Traveller<'_>, answers: &RolloutAnswers) -> Option<String> {
    if traveller.leg.done > 0 {
        return None;
    }
    for (at, step) in traveller.steps().iter().enumerate() {
        let told = |why: String| Some(format!("step {}: {why}", step.name));
        match applies(traveller, step, answers) {
            Applies::Unknown(why) => return told(why),
            Applies::No => continue,
            Applies::Yes => {}
        }
        match &step.act {
            WorkflowAct::Wait { .. } => {
                if let Some(why) = traveller.leg.unmet(at, StepWay::Done) {
                    return told(why.to_owned());
                }
            }
            WorkflowAct::Beside(other) if other.act.is_wait() => {
                match beside::progress(Beside { traveller, step: at, answers }, &other.act, StepWay::Done) {
                    StepProgress::Waits(why) | StepProgress::Away(why) | StepProgress::Stuck(why) => return told(why),
                    StepProgress::Done | StepProgress::ByHand | StepProgress::Next(_) => {}
                }
            }
            _ => return None,
        }
    }
    None
}
