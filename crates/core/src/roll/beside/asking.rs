//! What has to be looked up for a step.

use super::looking::object_question;
use super::{adopting, converting, deleting, deleting_named, readmitting, recreating, returning, waiting_for_all};
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
    if way == StepWay::Undone && !act.is_undone_by_writes() && !matches!(act, BesideAct::DeleteSource) {
        return Vec::new();
    }
    match act {
        BesideAct::Wait { on, .. } => object_question(traveller, on).into_iter().collect(),
        BesideAct::WaitForAll(wait) => vec![waiting_for_all::question(traveller, wait)],
        BesideAct::DeleteNamed(deletion) => deleting_named::questions(traveller, deletion),
        BesideAct::Readmit(readmission) => readmitting::questions(traveller, readmission),
        BesideAct::Convert => converting::questions(traveller, step, way),
        BesideAct::Recreate(recreation) => recreating::questions(traveller, step, recreation),
        BesideAct::Adopt(resources) => adopting::questions(traveller, resources),
        BesideAct::DeleteLabelled { resource, labels } => {
            deleting::labelled_questions(traveller, step, resource, labels)
        }
        BesideAct::DeleteSource if way == StepWay::Undone => returning::questions(traveller, step),
        BesideAct::DeleteSource => deleting::source_questions(traveller),
    }
}
