//! Progress of an object in steps that act on other objects.

use super::actions::convert::conflicting_replacement_outcome;
use super::actions::progress;
use super::context::StepContext;
use super::outcome::{ObjectStepInput, StepChange, StepOutcome, StepWrite};
use super::writes::object_write::ObjectWrite;
use crate::definition::workflows::{ObjectAction, StepDirection};
use crate::lookup::results::LookupResults;
use crate::observe::status::InFlightObject;

/// The next action on other objects before the current step: a partially applied adjacent step is first completed or
/// reverted.
pub(crate) fn half_done(
    context: StepContext<'_>,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> Option<StepChange> {
    let at_hand = context.next_step(in_flight_object).map(|(at, _)| at);
    let mut half = context.object_actions(in_flight_object.back).filter(|(at, _)| Some(*at) != at_hand);
    let (step, act) = half.next()?;
    stepping_of(progress(ObjectStepInput { context, step, answers }, act, way(in_flight_object.back)))
}

/// The reason why a rollback cannot proceed: an object of the target kind exists that is not known as its replacement.
pub(crate) fn conflicting_replacement(
    context: StepContext<'_>,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> Option<StepChange> {
    let (step, _) = context.next_step(in_flight_object).filter(|_| in_flight_object.back)?;
    stepping_of(conflicting_replacement_outcome(ObjectStepInput { context, step, answers })?)
}

/// Progress of the current step, which acts on other objects.
pub(crate) fn progress_of(
    context: StepContext<'_>,
    (step, act): (usize, &ObjectAction),
    back: bool,
    answers: &LookupResults,
) -> StepOutcome {
    if back && context.was_by_hand(step) {
        return StepOutcome::Done;
    }
    progress(ObjectStepInput { context, step, answers }, act, way(back))
}

/// The consequence of an unfinished step for its object.
pub(crate) fn stepping_of(progress: StepOutcome) -> Option<StepChange> {
    match progress {
        StepOutcome::Done | StepOutcome::ByHand => None,
        StepOutcome::Next(write) => Some(StepChange::Next(StepWrite::Object(write))),
        StepOutcome::Waits(why) => Some(StepChange::Waits { why, spent: false }),
        StepOutcome::Away(why) => Some(StepChange::Away(why)),
        StepOutcome::Stuck(why) => Some(StepChange::Stuck(why)),
    }
}

/// The write that recreates an object deleted for another one, if it is missing now.
pub(crate) fn open_gap(
    context: StepContext<'_>,
    in_flight_object: &InFlightObject,
    answers: &LookupResults,
) -> Option<Box<ObjectWrite>> {
    context.object_actions(in_flight_object.back).find_map(|(step, act)| {
        match progress_of(context, (step, act), in_flight_object.back, answers) {
            StepOutcome::Next(write) if write.closes_gap() => Some(write),
            _ => None,
        }
    })
}

/// True if the first step is partially applied and not yet counted.
pub(crate) fn has_uncounted_changes(context: StepContext<'_>, answers: &LookupResults) -> bool {
    let first =
        context.object_actions(true).find(|(at, act)| *at == context.wave_progress.done && act.is_undone_by_writes());
    let progress =
        first.map(|(step, act)| progress(ObjectStepInput { context, step, answers }, act, StepDirection::Undone));
    progress.is_some_and(|progress| stepping_of(progress).is_some())
}

/// The direction of a step.
pub(crate) fn way(back: bool) -> StepDirection {
    if back { StepDirection::Undone } else { StepDirection::Done }
}
