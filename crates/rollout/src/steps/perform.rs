//! Progress of a step, by action.

use super::outcome::{ObjectStepInput, StepOutcome};
use super::{adopt, convert, delete, deletion_by_name, list_wait, recreate, revert, touch, wait};
use pointsman_core::definition::{ObjectAction, StepDirection};

/// Progress of a step in a direction.
pub(crate) fn progress(step: ObjectStepInput<'_>, act: &ObjectAction, way: StepDirection) -> StepOutcome {
    match way {
        StepDirection::Done => forward(step, act),
        StepDirection::Undone => back(step, act),
    }
}

fn forward(step: ObjectStepInput<'_>, act: &ObjectAction) -> StepOutcome {
    match act {
        ObjectAction::Wait { on, until } => wait::forward(step, on, until),
        ObjectAction::WaitForAll(wait) => list_wait::forward(step, wait),
        ObjectAction::DeleteNamed(deletion) => deletion_by_name::forward(step, deletion),
        ObjectAction::Readmit(readmission) => touch::forward(step, readmission),
        ObjectAction::Convert => convert::forward(step),
        ObjectAction::Recreate(recreation) => recreate::forward(step, recreation),
        ObjectAction::Adopt(resources) => adopt::forward(step, resources),
        ObjectAction::DeleteLabelled { resource, labels } => delete::labelled(step, resource, labels),
        ObjectAction::DeleteSource => delete::source(step),
    }
}

/// Actions without undo writes have no effect to revert ([`ObjectAction::is_undone_by_writes`]), except the deletion of
/// an object that can be recreated.
fn back(step: ObjectStepInput<'_>, act: &ObjectAction) -> StepOutcome {
    match act {
        ObjectAction::Convert => convert::back(step),
        ObjectAction::Recreate(recreation) => recreate::back(step, recreation),
        ObjectAction::Adopt(resources) => adopt::back(step, resources),
        ObjectAction::DeleteSource => revert::back(step),
        ObjectAction::Wait { .. }
        | ObjectAction::WaitForAll(_)
        | ObjectAction::DeleteLabelled { .. }
        | ObjectAction::DeleteNamed(_)
        | ObjectAction::Readmit(_) => StepOutcome::Done,
    }
}
