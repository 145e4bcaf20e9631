//! Rechecks waits right before an irreversible step. Their conditions must hold when the step begins: days may pass
//! until the step is accepted or the rollout is resumed.

use super::lookup::step_lookups;
use super::perform::progress;
use std::ops::Range;

use super::context::StepContext;
use super::initial_waits::{StepApplicability, applies, condition_lookup};
use super::step_outcome::{ObjectStepInput, StepOutcome};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::status::InFlightObject;
use pointsman_core::definition::{StepDirection, WorkflowAct, WorkflowStep};

/// Result of the recheck.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum WaitRecheck {
    Holds,
    /// Not checked yet, with the missing lookup.
    Unknown(String),
    /// A condition fails: progress returns to this number of steps, and the waits are repeated.
    Lost(usize),
}

/// Lookups for the recheck.
pub(crate) fn recheck_lookups(context: StepContext<'_>, in_flight_object: &InFlightObject) -> Vec<LookupRequest> {
    let waits = if begins_for_good(context, in_flight_object) { before(context) } else { 0..0 };
    waits.flat_map(|at| lookups(context, at)).collect()
}

/// Rechecks the waits right before the current step. They hold if that step is reversible or has begun.
pub(crate) fn waited(
    context: StepContext<'_>,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> WaitRecheck {
    if !begins_for_good(context, in_flight_object) {
        return WaitRecheck::Holds;
    }
    let waits = before(context);
    let first = waits.start;
    if first == 0 && !waits.is_empty() && context.wave_progress.is_outside() {
        return WaitRecheck::Lost(first);
    }
    let mut each = waits.map(|at| still_holds(context, at, first, answers));
    each.find(|waited| *waited != WaitRecheck::Holds).unwrap_or(WaitRecheck::Holds)
}

/// True if the current step is irreversible and has not begun.
pub(crate) fn begins_for_good(context: StepContext<'_>, in_flight_object: &InFlightObject) -> bool {
    let is_for_good = |step: &WorkflowStep| step.irreversible.is_some();
    !in_flight_object.back
        && !context.wave_progress.open
        && context.seen_job(in_flight_object).is_none()
        && context.steps().get(context.wave_progress.done).is_some_and(is_for_good)
}

/// The wait steps right before the current step.
fn before(context: StepContext<'_>) -> Range<usize> {
    let (steps, done) = (context.steps(), context.wave_progress.done);
    let is_wait = |at: &usize| steps.get(*at).is_some_and(WorkflowStep::is_wait);
    (0..done).rev().take_while(is_wait).last().unwrap_or(done)..done
}

fn lookups(context: StepContext<'_>, at: usize) -> Vec<LookupRequest> {
    let Some(step) = context.steps().get(at) else { return Vec::new() };
    let of_others = step.object_step().map(|other| step_lookups(context, &other.act, at, StepDirection::Done));
    condition_lookup(context, step).into_iter().chain(of_others.into_iter().flatten()).collect()
}

/// Rechecks one of these waits, given the first of them.
fn still_holds(context: StepContext<'_>, at: usize, first: usize, answers: &LookupResults) -> WaitRecheck {
    let Some(step) = context.steps().get(at) else { return WaitRecheck::Holds };
    let holds = |holds: bool| if holds { WaitRecheck::Holds } else { WaitRecheck::Lost(first) };
    let unseen = lookups(context, at).into_iter().find(|lookup| answers.of(&lookup.about).is_none());
    if let Some(lookup) = unseen {
        return WaitRecheck::Unknown(format!("step {}: {lookup} was not read again yet", step.name));
    }
    match applies(context, step, answers) {
        StepApplicability::Unknown(why) => return WaitRecheck::Unknown(format!("step {}: {why}", step.name)),
        StepApplicability::No => return WaitRecheck::Holds,
        StepApplicability::Yes => {}
    }
    match &step.act {
        WorkflowAct::Wait { .. } => holds(context.wave_progress.unmet(at, StepDirection::Done).is_none()),
        WorkflowAct::OnObjects(other) => {
            let progress = progress(ObjectStepInput { context, step: at, answers }, &other.act, StepDirection::Done);
            holds(matches!(progress, StepOutcome::Done | StepOutcome::ByHand))
        }
        WorkflowAct::Set(_) | WorkflowAct::Job { .. } => WaitRecheck::Holds,
    }
}
