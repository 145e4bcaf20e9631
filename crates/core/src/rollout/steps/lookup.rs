//! Lookups of a step.

use super::observation::object_question;
use super::{adopt, convert, delete, delete_named, list_wait, recreate, revert, touch};
use crate::definition::{ObjectAction, StepDirection};
use crate::rollout::lookup_request::LookupRequest;
use crate::rollout::step_context::StepContext;

/// The lookups that determine the progress of a step.
pub(in crate::rollout) fn step_questions(
    traveller: StepContext<'_>,
    act: &ObjectAction,
    step: usize,
    way: StepDirection,
) -> Vec<LookupRequest> {
    if way == StepDirection::Undone && !act.is_undone_by_writes() && !matches!(act, ObjectAction::DeleteSource) {
        return Vec::new();
    }
    match act {
        ObjectAction::Wait { on, .. } => object_question(traveller, on).into_iter().collect(),
        ObjectAction::WaitForAll(wait) => vec![list_wait::question(traveller, wait)],
        ObjectAction::DeleteNamed(deletion) => delete_named::questions(traveller, deletion),
        ObjectAction::Readmit(readmission) => touch::questions(traveller, readmission),
        ObjectAction::Convert => convert::questions(traveller, step, way),
        ObjectAction::Recreate(recreation) => recreate::questions(traveller, step, recreation),
        ObjectAction::Adopt(resources) => adopt::questions(traveller, resources),
        ObjectAction::DeleteLabelled { resource, labels } => {
            delete::labelled_questions(traveller, step, resource, labels)
        }
        ObjectAction::DeleteSource if way == StepDirection::Undone => revert::questions(traveller, step),
        ObjectAction::DeleteSource => delete::source_questions(traveller),
    }
}
