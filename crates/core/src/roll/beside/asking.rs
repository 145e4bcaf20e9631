//! What has to be looked up for a step.

use super::looking::object_question;
use super::{adopting, converting, deleting, deleting_named, readmitting, recreating, waiting_for_all};
use crate::definition::{BesideAct, StepWay};
use crate::roll::questions::RollQuestion;
use crate::roll::traveller::Traveller;

/// What has to be looked up before it is known how far a step is.
pub(in crate::roll) fn step_questions(
    traveller: Traveller<'_>,
    act: &BesideAct,
    step: usize,
    way: StepWay,
) -> Vec<RollQuestion> {
    match (act, way) {
        (BesideAct::Wait { on, .. }, StepWay::Done) => object_question(traveller, on).into_iter().collect(),
        (BesideAct::WaitForAll(wait), StepWay::Done) => vec![waiting_for_all::question(traveller, wait)],
        (BesideAct::DeleteNamed(deletion), StepWay::Done) => deleting_named::questions(traveller, deletion),
        (BesideAct::Readmit(readmission), StepWay::Done) => readmitting::questions(traveller, readmission),
        (BesideAct::Convert, _) => converting::questions(traveller, way),
        (BesideAct::Recreate(recreation), _) => recreating::questions(traveller, step, recreation),
        (BesideAct::Adopt(resources), _) => adopting::questions(traveller, resources),
        (BesideAct::DeleteLabelled { resource, labels }, StepWay::Done) => {
            deleting::labelled_questions(traveller, step, resource, labels)
        }
        (BesideAct::DeleteSource, StepWay::Done) => deleting::source_questions(traveller),
        (
            BesideAct::Wait { .. }
            | BesideAct::WaitForAll(_)
            | BesideAct::DeleteLabelled { .. }
            | BesideAct::DeleteNamed(_)
            | BesideAct::DeleteSource
            | BesideAct::Readmit(_),
            StepWay::Undone,
        ) => Vec::new(),
    }
}
