//! Waits of a workflow: at its start, where the object uses no budget, and again right before an irreversible step.

use super::actions::{progress, step_lookups, touch};
use super::context::StepContext;
use super::objects::observed_object::list;
use super::outcome::{ObjectStepInput, StepOutcome};
use crate::definition::workflows::{ObjectAction, StepDirection, WorkflowAct, WorkflowStep};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::{LookupResults, MutationState};
use crate::observe::status::InFlightObject;
use std::ops::Range;

/// Whether a step applies to an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepApplicability {
    Yes,
    No,
    /// Unknown, with the reason.
    Unknown(String),
}

/// The lookup that determines whether a step applies.
pub(crate) fn condition_lookup(context: StepContext<'_>, step: &WorkflowStep) -> Option<LookupRequest> {
    let list = step.if_any.as_ref()?;
    Some(LookupRequest::of_all_at(&list.resource, &context.place_of(&list.place)))
}

/// Whether a step applies to an object.
pub(crate) fn applies(context: StepContext<'_>, step: &WorkflowStep, answers: &LookupResults) -> StepApplicability {
    let Some(lookup) = condition_lookup(context, step) else { return StepApplicability::Yes };
    match list(answers, &lookup) {
        Ok([]) => match had_any(context, &lookup) {
            Some(before) => StepApplicability::Unknown(format!(
                "the list of {lookup} is empty now but was not when step {before} was done: waiting, because a list can be empty for a moment"
            )),
            None => applies_to_empty_list(context, step, answers),
        },
        Ok(_) => StepApplicability::Yes,
        Err(why) => StepApplicability::Unknown(why),
    }
}

/// An applied step with the same, then nonempty list. A step that applied continues to apply in the middle of a
/// workflow.
fn had_any<'a>(context: StepContext<'a>, lookup: &LookupRequest) -> Option<&'a str> {
    let mut before = context.steps().iter().enumerate().take(context.wave_progress.done);
    let is_of_it = |step: &WorkflowStep| condition_lookup(context, step).is_some_and(|one| one.is_same(lookup));
    let (_, step) = before.find(|(at, step)| is_of_it(step) && !context.was_by_hand(*at))?;
    Some(&step.name)
}

/// Whether a step with an empty list applies. The list may be empty for a moment, or refer to the wrong location: the
/// step still applies while one of its named objects exists.
fn applies_to_empty_list(context: StepContext<'_>, step: &WorkflowStep, answers: &LookupResults) -> StepApplicability {
    let WorkflowAct::OnObjects(of) = &step.act else { return StepApplicability::No };
    let ObjectAction::Readmit(readmission) = &of.act else { return StepApplicability::No };
    for lookup in touch::lookups(context, readmission) {
        match answers.mutated_of(&lookup) {
            Some(MutationState::Absent) => {}
            Some(_) => return StepApplicability::Yes,
            None => return StepApplicability::Unknown(format!("{lookup} was not read yet")),
        }
    }
    StepApplicability::No
}

/// Lookups before an object begins: the conditions of its first steps, except for those already unmet in the object
/// itself.
pub(crate) fn initial_lookups(context: StepContext<'_>) -> Vec<LookupRequest> {
    let mut lookups = Vec::new();
    // A list that determines an unmet wait: later waits with the same list need no lookup.
    let mut closed_gate: Option<LookupRequest> = None;
    for (at, step) in context.steps().iter().enumerate() {
        let only = condition_lookup(context, step);
        let is_behind = match (&closed_gate, &only) {
            (Some(closed_gate), Some(only)) => closed_gate.is_same(only),
            _ => false,
        };
        lookups.extend(only.clone().filter(|_| !is_behind));
        match &step.act {
            _ if is_behind && step.is_wait() => {}
            WorkflowAct::Wait { .. } if context.wave_progress.unmet(at, StepDirection::Done).is_some() => match only {
                None => break,
                only => closed_gate = closed_gate.or(only),
            },
            WorkflowAct::Wait { .. } => {}
            WorkflowAct::OnObjects(other) if other.act.is_wait() => {
                lookups.extend(step_lookups(context, &other.act, at, StepDirection::Done));
            }
            _ => break,
        }
    }
    lookups
}

/// The unmet wait of an object that has not begun, as a message.
pub(crate) fn initial_wait(context: StepContext<'_>, answers: &LookupResults) -> Option<String> {
    if context.wave_progress.done > 0 {
        return None;
    }
    for (at, step) in context.steps().iter().enumerate() {
        let waits_at = |why: String| Some(format!("step {}: {why}", step.name));
        match applies(context, step, answers) {
            StepApplicability::Unknown(why) => return waits_at(why),
            StepApplicability::No => continue,
            StepApplicability::Yes => {}
        }
        match &step.act {
            WorkflowAct::Wait { .. } => {
                if let Some(why) = context.wave_progress.unmet(at, StepDirection::Done) {
                    return waits_at(why.to_owned());
                }
            }
            WorkflowAct::OnObjects(other) if other.act.is_wait() => {
                match progress(ObjectStepInput { context, step: at, answers }, &other.act, StepDirection::Done) {
                    StepOutcome::Waits(why) | StepOutcome::Away(why) | StepOutcome::Stuck(why) => return waits_at(why),
                    StepOutcome::Done | StepOutcome::ByHand | StepOutcome::Next(_) => {}
                }
            }
            _ => return None,
        }
    }
    None
}

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
