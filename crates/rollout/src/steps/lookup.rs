//! Lookups of a step.

use super::context::StepContext;
use super::observed_object::object_lookup;
use super::{adopt, convert, delete, deletion_by_name, list_wait, recreate, revert, touch};
use crate::lookup::request::LookupRequest;
use pointsman_core::definition::{ObjectAction, StepDirection};

/// The lookups that determine the progress of a step.
pub(crate) fn step_lookups(
    context: StepContext<'_>,
    act: &ObjectAction,
    step: usize,
    way: StepDirection,
) -> Vec<LookupRequest> {
    if way == StepDirection::Undone && !act.is_undone_by_writes() && !matches!(act, ObjectAction::DeleteSource) {
        return Vec::new();
    }
    match act {
        ObjectAction::Wait { on, .. } => object_lookup(context, on).into_iter().collect(),
        ObjectAction::WaitForAll(wait) => vec![list_wait::lookup(context, wait)],
        ObjectAction::DeleteNamed(deletion) => deletion_by_name::lookups(context, deletion),
        ObjectAction::Readmit(readmission) => touch::lookups(context, readmission),
        ObjectAction::Convert => convert::lookups(context, step, way),
        ObjectAction::Recreate(recreation) => recreate::lookups(context, step, recreation),
        ObjectAction::Adopt(resources) => adopt::lookups(context, resources),
        ObjectAction::DeleteLabelled { resource, labels } => {
            delete::labelled_questions(context, step, resource, labels)
        }
        ObjectAction::DeleteSource if way == StepDirection::Undone => revert::lookups(context, step),
        ObjectAction::DeleteSource => delete::source_lookups(context),
    }
}
