//! How far a step is, whatever it does.

use super::progress::{Beside, StepProgress};
use super::{adopting, converting, deleting, deleting_named, readmitting, recreating, waiting, waiting_for_all};
use crate::definition::{BesideAct, StepWay};

/// How far a step is, on its way to be done, or undone.
pub(in crate::roll) fn progress(step: Beside<'_>, act: &BesideAct, way: StepWay) -> StepProgress {
    match (act, way) {
        (BesideAct::Wait { on, until }, StepWay::Done) => waiting::forward(step, on, until),
        (BesideAct::WaitForAll(wait), StepWay::Done) => waiting_for_all::forward(step, wait),
        (BesideAct::DeleteNamed(deletion), StepWay::Done) => deleting_named::forward(step, deletion),
        (BesideAct::Readmit(readmission), StepWay::Done) => readmitting::forward(step, readmission),
        (BesideAct::Convert, StepWay::Done) => converting::forward(step),
        (BesideAct::Convert, StepWay::Undone) => converting::back(step),
        (BesideAct::Recreate(recreation), StepWay::Done) => recreating::forward(step, recreation),
        (BesideAct::Recreate(recreation), StepWay::Undone) => recreating::back(step, recreation),
        (BesideAct::Adopt(resources), StepWay::Done) => adopting::forward(step, resources),
        (BesideAct::Adopt(resources), StepWay::Undone) => adopting::back(step, resources),
        (BesideAct::DeleteLabelled { resource, labels }, StepWay::Done) => deleting::labelled(step, resource, labels),
        (BesideAct::DeleteSource, StepWay::Done) => deleting::source(step),
        (
            BesideAct::Wait { .. }
            | BesideAct::WaitForAll(_)
            | BesideAct::DeleteLabelled { .. }
            | BesideAct::DeleteNamed(_)
            | BesideAct::DeleteSource
            | BesideAct::Readmit(_),
            StepWay::Undone,
        ) => StepProgress::Done,
    }
}
