//! A definition that is being drafted.

use super::acceptance::Acceptance;
use super::entry::{Entry, Operation};
use super::existing_text::ExistingText;
use super::flow::flow;
use super::line_index::LineIndex;
use super::step_outline::{EntryPlace, PlaceInStep, StepOutline};
use crate::definition::{API_VERSION, KIND, Path, Sides, StepEdit};

/// A definition that is being drafted.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// The comment at the top.
    pub(super) title: String,
    /// The file of the CRD, relative to the definition.
    pub(super) crd: String,
    pub(super) steps: Vec<StepOutline>,
    /// The text of an existing definition. The entries of the outline are new ones, and the last steps may be new.
    pub(super) existing: Option<ExistingText>,
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
        if let Some(existing) = &self.existing {
            return existing.write(&self.steps);
        }
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
