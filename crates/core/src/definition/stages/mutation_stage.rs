//! A stage: what objects are before a fact is true, and after it.

use super::fact::StageFact;
use super::selection::StageSelection;
use super::stage_operation::StageOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// Where an object stands: the fact of its stage is not true yet, or it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StagePhase {
    Before,
    After,
}

/// What becomes of a write where nobody answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FailurePolicy {
    Fail,
    Ignore,
}

impl FailurePolicy {
    /// As it is registered.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

/// What objects are before a fact is true, and after it.
#[derive(Clone, Debug)]
pub(crate) struct MutationStage {
    pub(crate) name: String,
    pub(crate) fact: StageFact,
    pub(crate) selection: StageSelection,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) before: Vec<StageOperation>,
    pub(crate) after: Vec<StageOperation>,
}

impl MutationStage {
    /// Makes an object what it is in a phase. Once the fact is true, what holds before it is done as well: so an object
    /// that is written for the first time then becomes what one became that was there all along.
    pub(crate) fn apply(&self, phase: StagePhase, object: &mut Json<'_>, pod: &Path) {
        settle(object, &|object| {
            settle(object, &|object| self.before.iter().for_each(|operation| operation.apply(object, pod)));
            if phase == StagePhase::After {
                settle(object, &|object| self.after.iter().for_each(|operation| operation.apply(object, pod)));
            }
        });
    }
}

/// Does something until it changes nothing any more. Mostly that is at once; but a word may become the value of the
/// flag before it when another flag between them goes.
fn settle<'j>(object: &mut Json<'j>, work: &dyn Fn(&mut Json<'j>)) {
    let mut was = object.to_text();
    for _ in 0..ROUNDS {
        work(object);
        let is = object.to_text();
        if is == was {
            return;
        }
        was = is;
    }
}

/// More than there are ways in which one flag can stand before another.
const ROUNDS: usize = 8;
