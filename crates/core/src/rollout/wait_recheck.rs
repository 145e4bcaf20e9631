//! What was waited for right before a step that cannot be undone. It has to hold when that step begins, and not only
//! when it was waited for: days may lie between, in which nobody has accepted the step, or the rollout was paused.

use std::ops::Range;

use super::lookup_results::LookupResults;
use super::steps::{self, ObjectStepInput, StepOutcome};
use super::initial_waits::{StepApplicability, applies, if_any_question};
use super::lookup_request::LookupRequest;
use super::status::InFlightObject;
use super::step_context::StepContext;
use crate::definition::{WorkflowAct, WorkflowStep, StepDirection};

/// Whether what was waited for still holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum WaitRecheck {
    Holds,
    /// Nobody has looked again yet, and at what.
    Unknown(String),
    /// It does not: only so many steps count as done, and all of that is waited for again.
    Lost(usize),
}

/// What has to be looked up for that.
pub(super) fn waited_questions(traveller: StepContext<'_>, reservation: &InFlightObject) -> Vec<LookupRequest> {
    let waits = if begins_for_good(traveller, reservation) { before(traveller) } else { 0..0 };
    waits.flat_map(|at| questions(traveller, at)).collect()
}

/// Whether what was waited for right before the step at hand still holds. It does where that step can be undone, or was
/// begun with.
pub(super) fn waited(traveller: StepContext<'_>, reservation: &InFlightObject, answers: &LookupResults) -> WaitRecheck {
    if !begins_for_good(traveller, reservation) {
        return WaitRecheck::Holds;
    }
    let waits = before(traveller);
    let first = waits.start;
    if first == 0 && !waits.is_empty() && traveller.leg.is_outside() {
        return WaitRecheck::Lost(first);
    }
    let mut each = waits.map(|at| still_holds(traveller, at, first, answers));
    each.find(|waited| *waited != WaitRecheck::Holds).unwrap_or(WaitRecheck::Holds)
}

/// Whether the step at hand cannot be undone, and nothing of it was begun with.
pub(super) fn begins_for_good(traveller: StepContext<'_>, reservation: &InFlightObject) -> bool {
    let is_for_good = |step: &WorkflowStep| step.irreversible.is_some();
    !reservation.back
        && !traveller.leg.open
        && traveller.seen_job(reservation).is_none()
        && traveller.steps().get(traveller.leg.done).is_some_and(is_for_good)
}

/// The steps right before the one at hand that do nothing but wait.
fn before(traveller: StepContext<'_>) -> Range<usize> {
    let (steps, done) = (traveller.steps(), traveller.leg.done);
    let is_wait = |at: &usize| steps.get(*at).is_some_and(WorkflowStep::is_wait);
    (0..done).rev().take_while(is_wait).last().unwrap_or(done)..done
}

fn questions(traveller: StepContext<'_>, at: usize) -> Vec<LookupRequest> {
    let Some(step) = traveller.steps().get(at) else { return Vec::new() };
    let of_others = step.beside().map(|other| steps::step_questions(traveller, &other.act, at, StepDirection::Done));
    if_any_question(traveller, step).into_iter().chain(of_others.into_iter().flatten()).collect()
}

/// Whether one of these waits still holds, the first of which is this one.
fn still_holds(traveller: StepContext<'_>, at: usize, first: usize, answers: &LookupResults) -> WaitRecheck {
    let Some(step) = traveller.steps().get(at) else { return WaitRecheck::Holds };
    let holds = |holds: bool| if holds { WaitRecheck::Holds } else { WaitRecheck::Lost(first) };
    let unseen = questions(traveller, at).into_iter().find(|question| answers.of(&question.about).is_none());
    if let Some(question) = unseen {
        return WaitRecheck::Unknown(format!("step {}: nobody has looked at {question} again", step.name));
    }
    match applies(traveller, step, answers) {
        StepApplicability::Unknown(why) => return WaitRecheck::Unknown(format!("step {}: {why}", step.name)),
        StepApplicability::No => return WaitRecheck::Holds,
        StepApplicability::Yes => {}
    }
    match &step.act {
        WorkflowAct::Wait { .. } => holds(traveller.leg.unmet(at, StepDirection::Done).is_none()),
        WorkflowAct::Beside(other) => {
            let progress = steps::progress(ObjectStepInput { traveller, step: at, answers }, &other.act, StepDirection::Done);
            holds(matches!(progress, StepOutcome::Done | StepOutcome::ByHand))
        }
        WorkflowAct::Set(_) | WorkflowAct::Job { .. } => WaitRecheck::Holds,
    }
}
