//! What has to be looked up for a step.

use super::observation::object_question;
use super::{adopt, convert, delete, delete_named, recreate, revert, touch, waiting_for_all};
use crate::definition::{BesideAct, StepWay};
use crate::rollout::questions::RolloutQuestion;
use crate::rollout::traveller::Traveller;

/// What has to be looked up before it is known how far a step is.
pub(in crate::rollout) fn step_questions(
    traveller: Traveller<'_>,
    act: &BesideAct,
    step: usize,
    way: StepWay,
) -> Vec<RolloutQuestion> {
    if way == StepWay::Undone && !act.is_undone_by_writes() && !matches!(act, BesideAct::DeleteSource) {
        return Vec::new();
    }
    match act {
        BesideAct::Wait { on, .. } => object_question(traveller, on).into_iter().collect(),
        BesideAct::WaitForAll(wait) => vec![waiting_for_all::question(traveller, wait)],
        BesideAct::DeleteNamed(deletion) => delete_named::questions(traveller, deletion),
        BesideAct::Readmit(readmission) => touch::questions(traveller, readmission),
        BesideAct::Convert => convert::questions(traveller, step, way),
        BesideAct::Recreate(recreation) => recreate::questions(traveller, step, recreation),
        BesideAct::Adopt(resources) => adopt::questions(traveller, resources),
        BesideAct::DeleteLabelled { resource, labels } => delete::labelled_questions(traveller, step, resource, labels),
        BesideAct::DeleteSource if way == StepWay::Undone => revert::questions(traveller, step),
        BesideAct::DeleteSource => delete::source_questions(traveller),
    }
}
