//! Remedies: the change that fixes a problem of a definition, as data next to the message.

/// The change that fixes a problem, or leads to the next problem.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// A change of the definition.
    Edit(StepEdit),
    /// Another key of the operation in the line of the problem. The message contains the key, and the author chooses
    /// its value.
    Operation,
    /// A change of the CRD. No operation can express the difference. The message contains the reason.
    Crd,
}

/// A change of one step of a definition. The message of the problem contains each entry word for word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct StepEdit {
    /// The newer version of the step.
    pub to: String,
    /// New entries of `operations`, such as `drop: spec.size`.
    pub operations: Vec<String>,
    /// New entries of `accept`, such as `{path: spec.size, difference: maximum, reason: …}`.
    pub accept: Vec<String>,
    /// The lines of the entries that the edit removes, from 1.
    pub removes: Vec<u64>,
}

impl Remedy {
    /// New operations.
    pub(super) fn operations(operations: Vec<String>) -> Self {
        Self::Edit(StepEdit { operations, ..StepEdit::default() })
    }

    /// New operations in place of the operation in a line.
    pub(super) fn instead(line: u64, operations: Vec<String>) -> Self {
        Self::replacement(vec![line], operations)
    }

    /// New operations in place of those in some lines. Operations in line 0 are derived from the schemas. New
    /// operations suppress them.
    pub(super) fn replacement(mut removes: Vec<u64>, operations: Vec<String>) -> Self {
        removes.retain(|line| *line > 0);
        Self::Edit(StepEdit { operations, removes, ..StepEdit::default() })
    }

    /// A new entry of `accept`.
    pub(super) fn accept(entry: String) -> Self {
        Self::Edit(StepEdit { accept: vec![entry], ..StepEdit::default() })
    }

    /// Removes one entry.
    pub(super) fn removal(line: u64) -> Self {
        Self::Edit(StepEdit { removes: vec![line], ..StepEdit::default() })
    }

    /// Assigns the edit to the step that leads to a version.
    pub(super) fn of_step(self, to: &str) -> Self {
        match self {
            Self::Edit(edit) => Self::Edit(StepEdit { to: to.to_owned(), ..edit }),
            Self::Operation | Self::Crd => self,
        }
    }
}
