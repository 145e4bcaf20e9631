//! A stage: what objects are before a fact is true, and after it.

use super::fact::MutationFact;
use super::field_place::{FieldRoot, at_root};
use super::selection::MutationSelection;
use super::mutation_operation::MutationOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// Where an object stands: the fact of its stage is not true yet, or it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MutationPhase {
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
pub(crate) struct Mutation {
    pub(crate) name: String,
    pub(crate) fact: MutationFact,
    pub(crate) selection: MutationSelection,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) always: Vec<MutationOperation>,
    pub(crate) once_true: Vec<MutationOperation>,
}

impl Mutation {
    /// Everything it may do, before its fact and after it.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &MutationOperation> {
        self.always.iter().chain(&self.once_true)
    }

    /// Makes an object what it is in a phase. Once the fact is true, what holds before it is done as well: so an object
    /// that is written for the first time then becomes what one became that was there all along.
    pub(crate) fn apply(&self, phase: MutationPhase, object: &mut Json<'_>, pod: &Path) {
        settle(object, &|object| {
            settle(object, &|object| self.always.iter().for_each(|operation| operation.apply(object, pod)));
            if phase == MutationPhase::After {
                settle(object, &|object| self.once_true.iter().for_each(|operation| operation.apply(object, pod)));
            }
        });
    }
}

impl Mutation {
    /// What whoever writes an object should know of what this stage cannot do in it.
    pub(crate) fn remarks(&self, phase: MutationPhase, object: &mut Json<'_>, pod: &Path) -> Vec<String> {
        let once_true = self.once_true.iter().filter(|_| phase == MutationPhase::After);
        let (mut wanted, mut found, mut left_alone) = (false, false, false);
        for operation in self.always.iter().chain(once_true) {
            let Some(of) = operation.container() else { continue };
            wanted = true;
            at_root(object, pod, &FieldRoot::Container(of.clone()), |container| {
                found = true;
                left_alone |= operation.leaves_alone(container);
            });
        }
        let name = &self.name;
        let nowhere = "found no container that it is about: name one with `of`";
        let for_two = "leaves a command line alone that is for two programs: a shell with -c, or -- in `command`";
        let all = [(wanted && !found, nowhere), (left_alone, for_two)];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("mutation {name} {what}")).collect()
    }
}

/// Does something until it changes nothing any more. Mostly that is at once; but a word may become the value of the
/// flag before it when another flag between them goes.
fn settle<'j>(object: &mut Json<'j>, work: &dyn Fn(&mut Json<'j>)) {
    let mut was = object.to_text();
    for _ in 0..SETTLE_ROUNDS {
        work(object);
        let is = object.to_text();
        if is == was {
            return;
        }
        was = is;
    }
}

/// More than there are ways in which one flag can stand before another.
pub(crate) const SETTLE_ROUNDS: usize = 8;
