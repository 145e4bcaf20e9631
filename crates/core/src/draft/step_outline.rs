//! A step that is being drafted, and how it is written.

use super::acceptance::Acceptance;
use super::entry::{Entry, Operation};
use super::flow::flow;
use super::line_index::LineIndex;
use crate::definition::Sides;

/// A step that is being drafted.
#[derive(Clone, Debug)]
pub(super) struct StepOutline {
    /// The names of the versions.
    pub(super) versions: Sides<String>,
    pub(super) entries: Vec<Entry>,
    pub(super) accept: Vec<Acceptance>,
}

/// The entry in a line: the index of its step, and its place there.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct EntryPlace {
    pub(super) step: usize,
    pub(super) within: PlaceInStep,
}

/// The place of an entry in its step.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum PlaceInStep {
    /// The indices of an operation and of the lists around it, outermost first.
    Operation(Vec<usize>),
    /// The index of an accepted difference.
    Acceptance(usize),
}

impl StepOutline {
    /// Writes the step as an item of a list.
    pub(super) fn write(&self, step: usize, text: &mut LineIndex<EntryPlace>) {
        let name = |name: &str| flow(&name.into());
        text.push(0, &format!("- from: {}", name(&self.versions.older)), None);
        text.push(1, &format!("to: {}", name(&self.versions.newer)), None);
        if !self.entries.is_empty() {
            text.push(1, "operations:", None);
            self.write_operations(step, 1, text);
        }
        if !self.accept.is_empty() {
            text.push(
                1,
                "# Differences without an operation. Review each: an accepted difference is not converted.",
                None,
            );
            text.push(1, "accept:", None);
            self.write_acceptances(step, 1, text);
        }
    }

    /// Writes the operations as items of a list.
    pub(super) fn write_operations(&self, step: usize, depth: usize, text: &mut LineIndex<EntryPlace>) {
        let place = EntryPlace { step, within: PlaceInStep::Operation(Vec::new()) };
        self.write_entries(&self.entries, &place, depth, text);
    }

    /// Writes the accepted differences as items of a list.
    pub(super) fn write_acceptances(&self, step: usize, depth: usize, text: &mut LineIndex<EntryPlace>) {
        for (index, acceptance) in self.accept.iter().enumerate() {
            let place = EntryPlace { step, within: PlaceInStep::Acceptance(index) };
            text.push(depth, &format!("- {}", acceptance.text()), Some(place));
        }
    }

    fn write_entries(&self, entries: &[Entry], at: &EntryPlace, depth: usize, text: &mut LineIndex<EntryPlace>) {
        let mut reason = None;
        for (index, entry) in entries.iter().enumerate() {
            let own = self.reason(entry);
            if let Some(own) = own.as_ref().filter(|_| reason != own) {
                text.comment(depth, own);
            }
            reason = own;
            if let Some(question) = &entry.question {
                text.comment(depth, &format!("open question: {question}"));
            }
            let mut place = at.clone();
            if let PlaceInStep::Operation(indices) = &mut place.within {
                indices.push(index);
            }
            match &entry.operation {
                Operation::Line(name, argument) => {
                    text.push(depth, &format!("- {name}: {}", flow(argument)), Some(place));
                }
                Operation::Each(lists, inside) => {
                    text.push(depth, "- each:", Some(place.clone()));
                    let [older, newer] = [&lists.older, &lists.newer].map(|path| flow(&path.to_string().into()));
                    match older == newer {
                        true => text.push(depth + 2, &format!("in: {older}"), None),
                        false => {
                            text.push(depth + 2, &format!("from: {older}"), None);
                            text.push(depth + 2, &format!("to: {newer}"), None);
                        }
                    }
                    let list = if inside.is_empty() { "operations: []" } else { "operations:" };
                    text.push(depth + 2, list, None);
                    self.write_entries(inside, &place, depth + 2, text);
                }
            }
        }
    }

    /// The reason for an entry. Proposed operations have the reason of their name.
    fn reason(&self, entry: &Entry) -> Option<String> {
        let Sides { older, newer } = &self.versions;
        let Operation::Line(name, _) = &entry.operation else { return entry.reason.clone() };
        entry.reason.clone().or_else(|| match name.as_str() {
            "drop" => Some(format!("only {older} has the field")),
            "add" => Some(format!("only {newer} has the field")),
            "fill" => Some("only one version requires a value".to_owned()),
            _ => Some("the comparison of the schemas proposes this operation".to_owned()),
        })
    }
}
