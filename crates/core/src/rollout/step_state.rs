//! How far an object is in steps about other objects.

use super::answers::RolloutAnswers;
use super::beside::{self, Beside, ObjectWrite, StepProgress};
use super::status::InFlightObject;
use super::step_outcome::{StepWrite, Stepping};
use super::traveller::Traveller;
use crate::definition::{BesideAct, StepWay};

/// What comes next of other objects before the step at hand: what is half done of one beside it, whichever way it was
/// gone, is done or undone first.
pub(super) fn half_done(
    traveller: Traveller<'_>,
    reservation: &InFlightObject,
    answers: &RolloutAnswers,
) -> Option<Stepping> {
    let at_hand = traveller.next_step(reservation).map(|(at, _)| at);
    let mut half = traveller.beside(reservation.back).filter(|(at, _)| Some(*at) != at_hand);
    let (step, act) = half.next()?;
    stepping_of(beside::progress(Beside { traveller, step, answers }, act, way(reservation.back)))
}

/// Why nothing is undone of an object: it stands beside what is not known to have been made of it.
pub(super) fn beside_earlier_one(
    traveller: Traveller<'_>,
    reservation: &InFlightObject,
    answers: &RolloutAnswers,
) -> Option<Stepping> {
    let (step, _) = traveller.next_step(reservation).filter(|_| reservation.back)?;
    stepping_of(beside::beside_earlier(Beside { traveller, step, answers })?)
}

/// How far the step at hand is, which is about other objects.
pub(super) fn progress_of(
    traveller: Traveller<'_>,
    (step, act): (usize, &BesideAct),
    back: bool,
    answers: &RolloutAnswers,
) -> StepProgress {
    if back && traveller.was_by_hand(step) {
        return StepProgress::Done;
    }
    beside::progress(Beside { traveller, step, answers }, act, way(back))
}

/// What a step that is not done means for its object.
pub(super) fn stepping_of(progress: StepProgress) -> Option<Stepping> {
    match progress {
        StepProgress::Done | StepProgress::ByHand => None,
        StepProgress::Next(write) => Some(Stepping::Next(StepWrite::Object(write))),
        StepProgress::Waits(why) => Some(Stepping::Waits { why, spent: false }),
        StepProgress::Away(why) => Some(Stepping::Away(why)),
        StepProgress::Stuck(why) => Some(Stepping::Stuck(why)),
    }
}

/// What is made in the place of something that was deleted for it, where that is not there now.
pub(super) fn open_gap(
    traveller: Traveller<'_>,
    reservation: &InFlightObject,
    answers: &RolloutAnswers,
) -> Option<Box<ObjectWrite>> {
    traveller.beside(reservation.back).find_map(|(step, act)| {
        match progress_of(traveller, (step, act), reservation.back, answers) {
            StepProgress::Next(write) if write.closes_gap() => Some(write),
            _ => None,
        }
    })
}

/// Whether something of the first step is done that is not counted yet.
pub(super) fn has_begun_beside(traveller: Traveller<'_>, answers: &RolloutAnswers) -> bool {
    let first = traveller.beside(true).find(|(at, act)| *at == traveller.leg.done && act.is_undone_by_writes());
    let progress = first.map(|(step, act)| beside::progress(Beside { traveller, step, answers }, act, StepWay::Undone));
    progress.is_some_and(|progress| stepping_of(progress).is_some())
}

/// Which way a step is gone.
pub(super) fn way(back: bool) -> StepWay {
    if back { StepWay::Undone } else { StepWay::Done }
}
