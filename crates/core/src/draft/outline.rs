//! A definition that is being drafted: its steps with their entries, and how it is written.

use super::acceptance::Acceptance;
use super::entry::{Entry, Operation};
use super::flow::flow;
use super::line_index::LineIndex;
use crate::definition::{API_VERSION, KIND, Path, Sides, StepEdit};

/// A definition that is being drafted.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// The comment at the top.
    pub(super) title: String,
    /// The file of the CRD, relative to the definition.
    pub(super) crd: String,
    pub(super) steps: Vec<StepOutline>,
}

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

/// The index of the step in a line of a written definition, counted from 1. A step begins with `from` and ends before
/// the next one.
pub(super) fn step_at(written: &str, line: u64) -> Option<usize> {
    let before = usize::try_from(line).ok()?;
    written.lines().take(before).filter(|line| line.starts_with("- from: ")).count().checked_sub(1)
}

/// An operation without nested operations, with its step and the lists around it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    step: usize,
    lists: Vec<Sides<Path>>,
    operation: Operation,
}

impl Outline {
    /// Writes the definition, and returns the entry in each line.
    pub(super) fn write(&self) -> LineIndex<EntryPlace> {
        let mut text = LineIndex::default();
        text.comment(0, &self.title);
        text.push(0, &format!("apiVersion: {API_VERSION}"), None);
        text.push(0, &format!("kind: {KIND}"), None);
        text.push(0, &format!("crd: {}", flow(&self.crd.as_str().into())), None);
        text.push(0, "steps:", None);
        for (index, step) in self.steps.iter().enumerate() {
            step.write(index, &mut text);
        }
        text
    }

    /// The operation at a place, unless it has nested operations.
    pub(super) fn leaf(&self, place: &EntryPlace) -> Option<Leaf> {
        let PlaceInStep::Operation(indices) = &place.within else { return None };
        let (last, around) = indices.split_last()?;
        let (mut entries, mut lists) = (&self.steps.get(place.step)?.entries, Vec::new());
        for index in around {
            let Operation::Each(list, inside) = &entries.get(*index)?.operation else { return None };
            lists.push(list.clone());
            entries = inside;
        }
        let operation = entries.get(*last)?.operation.clone();
        matches!(operation, Operation::Line(..)).then_some(Leaf { step: place.step, lists, operation })
    }

    /// The operations of an edit that have no nested operations.
    pub(super) fn leaves(&self, edit: &StepEdit) -> Vec<Leaf> {
        let Some(step) = self.steps.iter().position(|step| step.versions.newer == edit.to) else { return Vec::new() };
        let mut leaves = Vec::new();
        for entry in edit.operations.iter().filter_map(|text| Entry::proposed(text)) {
            collect_leaves(step, &[], entry, &mut leaves);
        }
        leaves
    }

    /// Applies the change of a step. Returns whether the definition changed.
    pub(super) fn apply(&mut self, edit: &StepEdit) -> bool {
        let Some(step) = self.steps.iter_mut().find(|step| step.versions.newer == edit.to) else { return false };
        let mut changed = false;
        for entry in edit.operations.iter().filter_map(|text| Entry::proposed(text)) {
            changed |= entry.merge(&mut step.entries);
        }
        for acceptance in edit.accept.iter().filter_map(|text| Acceptance::proposed(text)) {
            if !step.accept.contains(&acceptance) {
                step.accept.push(acceptance);
                changed = true;
            }
        }
        changed
    }

    /// Removes entries. A list without entries is removed, too.
    pub(super) fn remove(&mut self, mut places: Vec<EntryPlace>) {
        places.sort_unstable();
        places.dedup();
        for EntryPlace { step, within } in places.into_iter().rev() {
            let Some(step) = self.steps.get_mut(step) else { continue };
            match within {
                PlaceInStep::Operation(indices) => remove(&mut step.entries, &indices),
                PlaceInStep::Acceptance(index) if index < step.accept.len() => _ = step.accept.remove(index),
                PlaceInStep::Acceptance(_) => {}
            }
        }
    }
}

fn collect_leaves(step: usize, lists: &[Sides<Path>], entry: Entry, leaves: &mut Vec<Leaf>) {
    match entry.operation {
        Operation::Each(list, inside) => {
            let lists = [lists, &[list]].concat();
            inside.into_iter().for_each(|entry| collect_leaves(step, &lists, entry, leaves));
        }
        operation => leaves.push(Leaf { step, lists: lists.to_vec(), operation }),
    }
}

fn remove(entries: &mut Vec<Entry>, indices: &[usize]) {
    let Some((first, rest)) = indices.split_first() else { return };
    match entries.get_mut(*first).map(|entry| &mut entry.operation) {
        Some(Operation::Each(lists, inside)) if !rest.is_empty() => {
            remove(inside, rest);
            if inside.is_empty() && lists.older == lists.newer {
                entries.remove(*first);
            }
        }
        Some(_) => _ = entries.remove(*first),
        None => {}
    }
}

impl StepOutline {
    fn write(&self, step: usize, text: &mut LineIndex<EntryPlace>) {
        let name = |name: &str| flow(&name.into());
        text.push(0, &format!("- from: {}", name(&self.versions.older)), None);
        text.push(1, &format!("to: {}", name(&self.versions.newer)), None);
        if !self.entries.is_empty() {
            text.push(1, "operations:", None);
            self.write_entries(
                &self.entries,
                &EntryPlace { step, within: PlaceInStep::Operation(Vec::new()) },
                1,
                text,
            );
        }
        if !self.accept.is_empty() {
            text.push(
                1,
                "# Differences without an operation. Review each: an accepted difference is not converted.",
                None,
            );
            text.push(1, "accept:", None);
        }
        for (index, acceptance) in self.accept.iter().enumerate() {
            let place = EntryPlace { step, within: PlaceInStep::Acceptance(index) };
            text.push(1, &format!("- {}", acceptance.text()), Some(place));
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
