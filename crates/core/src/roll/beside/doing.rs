//! How far a step is, whatever it does.

use super::progress::{Beside, StepProgress};
use super::{adopting, converting, deleting, recreating, waiting};
use crate::definition::{BesideAct, StepWay};

/// How far a step is, on its way to be done, or undone.
pub(in crate::roll) fn progress(step: Beside<'_>, act: &BesideAct, way: StepWay) -> StepProgress {
    match (act, way) {
        (BesideAct::Wait { on, until }, StepWay::Done) => waiting::forward(step, on, until),
        (BesideAct::Convert, StepWay::Done) => converting::forward(step),
        (BesideAct::Convert, StepWay::Undone) => converting::back(step),
        (BesideAct::Recreate(recreation), StepWay::Done) => recreating::forward(step, recreation),
        (BesideAct::Recreate(recreation), StepWay::Undone) => recreating::back(step, recreation),
        (BesideAct::Adopt(resources), StepWay::Done) => adopting::forward(step, resources),
        (BesideAct::Adopt(resources), StepWay::Undone) => adopting::back(step, resources),
        (BesideAct::DeleteLabelled { resource, labels }, StepWay::Done) => deleting::labelled(step, resource, labels),
        (BesideAct::DeleteSource, StepWay::Done) => deleting::source(step),
        (BesideAct::Wait { .. } | BesideAct::DeleteLabelled { .. } | BesideAct::DeleteSource, StepWay::Undone) => {
            StepProgress::Done
        }
    }
}
