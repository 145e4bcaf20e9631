//! Rechecks waits right before an irreversible step. Their conditions must hold when the step begins: days may pass
//! until the step is accepted or the rollout is resumed.

use std::ops::Range;

use super::initial_waits::{StepApplicability, applies, if_any_question};
use super::lookup_request::LookupRequest;
use super::lookup_results::LookupResults;
use super::status::InFlightObject;
use super::step_context::StepContext;
use super::steps::{self, ObjectStepInput, StepOutcome};
use crate::definition::{StepDirection, WorkflowAct, WorkflowStep};

/// Result of the recheck.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum WaitRecheck {
    Holds,
    /// Not checked yet, with the missing lookup.
    Unknown(String),
    /// A condition fails: progress returns to this number of steps, and the waits are repeated.
    Lost(usize),
}

/// Lookups for the recheck.
pub(super) fn waited_questions(traveller: StepContext<'_>, reservation: &InFlightObject) -> Vec<LookupRequest> {
    let waits = if begins_for_good(traveller, reservation) { before(traveller) } else { 0..0 };
    waits.flat_map(|at| questions(traveller, at)).collect()
}

/// Rechecks the waits right before the current step. They hold if that step is reversible or has begun.
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

/// True if the current step is irreversible and has not begun.
pub(super) fn begins_for_good(traveller: StepContext<'_>, reservation: &InFlightObject) -> bool {
    let is_for_good = |step: &WorkflowStep| step.irreversible.is_some();
    !reservation.back
        && !traveller.leg.open
        && traveller.seen_job(reservation).is_none()
        && traveller.steps().get(traveller.leg.done).is_some_and(is_for_good)
}

/// The wait steps right before the current step.
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

/// Rechecks one of these waits, given the first of them.
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
            let progress =
                steps::progress(ObjectStepInput { traveller, step: at, answers }, &other.act, StepDirection::Done);
            holds(matches!(progress, StepOutcome::Done | StepOutcome::ByHand))
        }
        WorkflowAct::Set(_) | WorkflowAct::Job { .. } => WaitRecheck::Holds,
    }
}
