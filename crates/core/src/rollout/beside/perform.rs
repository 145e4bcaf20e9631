//! How far a step is, whatever it does.

use super::progress::{Beside, StepProgress};
use super::{adopt, convert, delete, delete_named, recreate, revert, touch, wait, waiting_for_all};
use crate::definition::{BesideAct, StepWay};

/// How far a step is, on its way to be done, or undone.
pub(in crate::rollout) fn progress(step: Beside<'_>, act: &BesideAct, way: StepWay) -> StepProgress {
    match way {
        StepWay::Done => forward(step, act),
        StepWay::Undone => back(step, act),
    }
}

fn forward(step: Beside<'_>, act: &BesideAct) -> StepProgress {
    match act {
        BesideAct::Wait { on, until } => wait::forward(step, on, until),
        BesideAct::WaitForAll(wait) => waiting_for_all::forward(step, wait),
        BesideAct::DeleteNamed(deletion) => delete_named::forward(step, deletion),
        BesideAct::Readmit(readmission) => touch::forward(step, readmission),
        BesideAct::Convert => convert::forward(step),
        BesideAct::Recreate(recreation) => recreate::forward(step, recreation),
        BesideAct::Adopt(resources) => adopt::forward(step, resources),
        BesideAct::DeleteLabelled { resource, labels } => delete::labelled(step, resource, labels),
        BesideAct::DeleteSource => delete::source(step),
    }
}

/// Of what is not undone by writes nothing is there to undo ([`BesideAct::is_undone_by_writes`]), but that an object
/// was deleted which can be made anew.
fn back(step: Beside<'_>, act: &BesideAct) -> StepProgress {
    match act {
        BesideAct::Convert => convert::back(step),
        BesideAct::Recreate(recreation) => recreate::back(step, recreation),
        BesideAct::Adopt(resources) => adopt::back(step, resources),
        BesideAct::DeleteSource => revert::back(step),
        BesideAct::Wait { .. }
        | BesideAct::WaitForAll(_)
        | BesideAct::DeleteLabelled { .. }
        | BesideAct::DeleteNamed(_)
        | BesideAct::Readmit(_) => StepProgress::Done,
    }
}
