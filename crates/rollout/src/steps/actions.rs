//! The steps by their actions, and the rules that apply to all of them.

use super::adopt::Adopt;
use super::context::StepContext;
use super::convert::Convert;
use super::deletion_by_label::DeleteLabelled;
use super::deletion_by_name::DeleteNamed;
use super::list_wait::WaitForAll;
use super::outcome::{ObjectStepInput, StepOutcome};
use super::recreate::Recreate;
use super::source_deletion::DeleteSource;
use super::step_action::StepAction;
use super::touch::Readmit;
use super::wait::Wait;
use crate::definition::workflows::{ObjectAction, StepDirection};
use crate::lookup::request::LookupRequest;

/// The implementation of an action.
pub(crate) fn step_action(act: &ObjectAction) -> Box<dyn StepAction + '_> {
    match act {
        ObjectAction::Wait { on, until } => Box::new(Wait { on, until }),
        ObjectAction::WaitForAll(wait) => Box::new(WaitForAll(wait)),
        ObjectAction::Convert => Box::new(Convert),
        ObjectAction::Recreate(recreation) => Box::new(Recreate(recreation)),
        ObjectAction::Adopt(resources) => Box::new(Adopt(resources)),
        ObjectAction::DeleteLabelled { resource, labels } => Box::new(DeleteLabelled { resource, labels }),
        ObjectAction::DeleteNamed(deletion) => Box::new(DeleteNamed(deletion)),
        ObjectAction::DeleteSource => Box::new(DeleteSource),
        ObjectAction::Readmit(readmission) => Box::new(Readmit(readmission)),
    }
}

/// The lookups that determine the progress of a step. Actions without undo writes have no effect to revert
/// ([`ObjectAction::is_undone_by_writes`]), except the deletion of an object that can be recreated.
pub(crate) fn step_lookups(
    context: StepContext<'_>,
    act: &ObjectAction,
    step: usize,
    way: StepDirection,
) -> Vec<LookupRequest> {
    if way == StepDirection::Undone && !act.is_undone_by_writes() && !matches!(act, ObjectAction::DeleteSource) {
        return Vec::new();
    }
    step_action(act).lookups(context, step, way)
}

/// Progress of a step in a direction.
pub(crate) fn progress(step: ObjectStepInput<'_>, act: &ObjectAction, way: StepDirection) -> StepOutcome {
    match way {
        StepDirection::Done => step_action(act).forward(step),
        StepDirection::Undone => step_action(act).back(step),
    }
}
