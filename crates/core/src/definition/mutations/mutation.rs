//! A mutation: the state of objects before a fact is true, and after.

use super::fact::MutationFact;
use super::field_place::{FieldRoot, at_root};
use super::mutation_operation::MutationOperation;
use super::selection::MutationSelection;
use crate::definition::path::Path;
use crate::json::Json;

/// The phase of an object: the fact is not yet true, or it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MutationPhase {
    /// Before the mutations of other webhooks.
    Before,
    /// After the mutations of other webhooks.
    After,
}

/// The handling of a write if the webhook does not respond.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FailurePolicy {
    Fail,
    Ignore,
}

impl FailurePolicy {
    /// The value in the webhook configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

/// The state of objects before a fact is true, and after.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// The name of the mutation, used in messages.
    pub name: String,
    pub(crate) fact: MutationFact,
    /// The objects that it changes.
    pub selection: MutationSelection,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) always: Vec<MutationOperation>,
    pub(crate) once_true: Vec<MutationOperation>,
}

impl Mutation {
    /// All operations, before and after the fact.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &MutationOperation> {
        self.always.iter().chain(&self.once_true)
    }

    /// Applies the operations of a phase. Once the fact is true, the operations of the phase before also apply. So a
    /// new object ends in the same state as an old one.
    pub fn apply(&self, phase: MutationPhase, object: &mut Json<'_>, pod: &Path) {
        settle(object, &|object| {
            settle(object, &|object| self.always.iter().for_each(|operation| operation.apply(object, pod)));
            if phase == MutationPhase::After {
                settle(object, &|object| self.once_true.iter().for_each(|operation| operation.apply(object, pod)));
            }
        });
    }
}

impl Mutation {
    /// Warnings for the client about operations that have no effect on the object.
    pub fn remarks(&self, phase: MutationPhase, object: &mut Json<'_>, pod: &Path) -> Vec<String> {
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
        let nowhere = "found no matching container: name the container with `of`";
        let for_two = "skips a command line of two programs: a shell with -c, or -- in `command`";
        let all = [(wanted && !found, nowhere), (left_alone, for_two)];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("mutation {name} {what}")).collect()
    }
}

/// Repeats work until the object no longer changes. One round usually suffices. A word may become the value of a flag
/// when another flag between them is removed.
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

/// Exceeds the number of ways in which flags can depend on each other.
pub(crate) const SETTLE_ROUNDS: usize = 8;
