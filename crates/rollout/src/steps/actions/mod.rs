//! The steps by their actions, and the rules that apply to all of them.

pub(crate) mod adopt;
pub(crate) mod convert;
pub(crate) mod deletion_by_label;
pub(crate) mod deletion_by_name;
pub(crate) mod list_wait;
pub(crate) mod recreate;
pub(crate) mod source_deletion;
pub(crate) mod touch;
pub(crate) mod wait;

use crate::definition::workflows::{ObjectAction, StepDirection};
use crate::lookup::request::LookupRequest;
use crate::steps::context::StepContext;
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::step_action::StepAction;
use adopt::Adopt;
use convert::Convert;
use deletion_by_label::DeleteLabelled;
use deletion_by_name::DeleteNamed;
use list_wait::WaitForAll;
use recreate::Recreate;
use source_deletion::DeleteSource;
use touch::Readmit;
use wait::Wait;

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
