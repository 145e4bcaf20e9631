//! How far a step is, whatever it does.

use super::progress::{Beside, StepProgress};
use super::{
    adopting, converting, deleting, deleting_named, readmitting, recreating, returning, waiting, waiting_for_all,
};
use crate::definition::{BesideAct, StepWay};

/// How far a step is, on its way to be done, or undone.
pub(in crate::roll) fn progress(step: Beside<'_>, act: &BesideAct, way: StepWay) -> StepProgress {
    match way {
        StepWay::Done => forward(step, act),
        StepWay::Undone => back(step, act),
    }
}

fn forward(step: Beside<'_>, act: &BesideAct) -> StepProgress {
    match act {
        BesideAct::Wait { on, until } => waiting::forward(step, on, until),
        BesideAct::WaitForAll(wait) => waiting_for_all::forward(step, wait),
        BesideAct::DeleteNamed(deletion) => deleting_named::forward(step, deletion),
        BesideAct::Readmit(readmission) => readmitting::forward(step, readmission),
        BesideAct::Convert => converting::forward(step),
        BesideAct::Recreate(recreation) => recreating::forward(step, recreation),
        BesideAct::Adopt(resources) => adopting::forward(step, resources),
        BesideAct::DeleteLabelled { resource, labels } => deleting::labelled(step, resource, labels),
        BesideAct::DeleteSource => deleting::source(step),
    }
}

/// Of what is not undone by writes nothing is there to undo ([`BesideAct::is_undone_by_writes`]), but that an object
/// was deleted which can be made anew.
fn back(step: Beside<'_>, act: &BesideAct) -> StepProgress {
    match act {
        BesideAct::Convert => converting::back(step),
        BesideAct::Recreate(recreation) => recreating::back(step, recreation),
        BesideAct::Adopt(resources) => adopting::back(step, resources),
        BesideAct::DeleteSource => returning::back(step),
        BesideAct::Wait { .. }
        | BesideAct::WaitForAll(_)
        | BesideAct::DeleteLabelled { .. }
        | BesideAct::DeleteNamed(_)
        | BesideAct::Readmit(_) => StepProgress::Done,
    }
}
