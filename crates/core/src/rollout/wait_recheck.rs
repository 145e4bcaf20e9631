//! What was waited for right before a step that cannot be undone. It has to hold when that step begins, and not only
//! when it was waited for: days may lie between, in which nobody has accepted the step, or the rollout was paused.

use std::ops::Range;

use super::answers::RolloutAnswers;
use super::beside::{self, Beside, StepProgress};
use super::initial_waits::{Applies, applies, if_any_question};
use super::questions::RolloutQuestion;
use super::status::InFlightObject;
use super::traveller::Traveller;
use crate::definition::{WorkflowAct, WorkflowStep, StepWay};

/// Whether what was waited for still holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Waited {
    Holds,
    /// Nobody has looked again yet, and at what.
    Unknown(String),
    /// It does not: only so many steps count as done, and all of that is waited for again.
    Lost(usize),
}

/// What has to be looked up for that.
pub(super) fn waited_questions(traveller: Traveller<'_>, reservation: &InFlightObject) -> Vec<RolloutQuestion> {
    let waits = if begins_for_good(traveller, reservation) { before(traveller) } else { 0..0 };
    waits.flat_map(|at| questions(traveller, at)).collect()
}

/// Whether what was waited for right before the step at hand still holds. It does where that step can be undone, or was
/// begun with.
pub(super) fn waited(traveller: Traveller<'_>, reservation: &InFlightObject, answers: &RolloutAnswers) -> Waited {
    if !begins_for_good(traveller, reservation) {
        return Waited::Holds;
    }
    let waits = before(traveller);
    let first = waits.start;
    if first == 0 && !waits.is_empty() && traveller.leg.is_outside() {
        return Waited::Lost(first);
    }
    let mut each = waits.map(|at| still_holds(traveller, at, first, answers));
    each.find(|waited| *waited != Waited::Holds).unwrap_or(Waited::Holds)
}

/// Whether the step at hand cannot be undone, and nothing of it was begun with.
pub(super) fn begins_for_good(traveller: Traveller<'_>, reservation: &InFlightObject) -> bool {
    let is_for_good = |step: &WorkflowStep| step.irreversible.is_some();
    !reservation.back
        && !traveller.leg.open
        && traveller.seen_job(reservation).is_none()
        && traveller.steps().get(traveller.leg.done).is_some_and(is_for_good)
}

/// The steps right before the one at hand that do nothing but wait.
fn before(traveller: Traveller<'_>) -> Range<usize> {
    let (steps, done) = (traveller.steps(), traveller.leg.done);
    let is_wait = |at: &usize| steps.get(*at).is_some_and(WorkflowStep::is_wait);
    (0..done).rev().take_while(is_wait).last().unwrap_or(done)..done
}

fn questions(traveller: Traveller<'_>, at: usize) -> Vec<RolloutQuestion> {
    let Some(step) = traveller.steps().get(at) else { return Vec::new() };
    let of_others = step.beside().map(|other| beside::step_questions(traveller, &other.act, at, StepWay::Done));
    if_any_question(traveller, step).into_iter().chain(of_others.into_iter().flatten()).collect()
}

/// Whether one of these waits still holds, the first of which is this one.
fn still_holds(traveller: Traveller<'_>, at: usize, first: usize, answers: &RolloutAnswers) -> Waited {
    let Some(step) = traveller.steps().get(at) else { return Waited::Holds };
    let holds = |holds: bool| if holds { Waited::Holds } else { Waited::Lost(first) };
    let unseen = questions(traveller, at).into_iter().find(|question| answers.of(&question.about).is_none());
    if let Some(question) = unseen {
        return Waited::Unknown(format!("step {}: nobody has looked at {question} again", step.name));
    }
    match applies(traveller, step, answers) {
        Applies::Unknown(why) => return Waited::Unknown(format!("step {}: {why}", step.name)),
        Applies::No => return Waited::Holds,
        Applies::Yes => {}
    }
    match &step.act {
        WorkflowAct::Wait { .. } => holds(traveller.leg.unmet(at, StepWay::Done).is_none()),
        WorkflowAct::Beside(other) => {
            let progress = beside::progress(Beside { traveller, step: at, answers }, &other.act, StepWay::Done);
            holds(matches!(progress, StepProgress::Done | StepProgress::ByHand))
        }
        WorkflowAct::Set(_) | WorkflowAct::Job { .. } => Waited::Holds,
    }
}
