//! Completes a draft: applies the proposals of the reported problems until the definition loads.

use std::collections::BTreeSet;
use std::io;

use super::line_index::LineIndex;
use super::outline::{Leaf, Outline};
use super::separation::Separation;
use super::step_outline::EntryPlace;
use crate::definition::{BadDefinition, Kind, Problem, Remedy, StepEdit};

/// The maximum number of rounds. Each round applies all proposals; the deepest lists need a round for each level.
const ROUNDS: usize = 40;

/// Applies proposals until the definition loads. `file` is its name in messages, and `crd` the CRD as JSON.
///
/// # Errors
/// The problems that remain, if no proposal applies to them.
pub(super) fn complete(outline: &mut Outline, file: &str, crd: &str) -> Result<(), BadDefinition> {
    let mut completion = Completion::default();
    let mut rest = Ok(());
    for _ in 0..ROUNDS {
        let written = outline.write();
        let Err(bad) = load(file, &written.text, crd) else { return Ok(()) };
        let is_changed = completion.correct(outline, &written, &bad.problems);
        rest = Err(bad);
        if !is_changed {
            break;
        }
    }
    rest
}

/// The corrections so far.
#[derive(Default)]
struct Completion {
    seen: BTreeSet<String>,
    /// Operations with a problem that no proposal corrects.
    refused: Vec<Leaf>,
    separation: Separation,
}

impl Completion {
    /// Corrects the problems of one round. Returns whether the outline changed.
    fn correct(&mut self, outline: &mut Outline, written: &LineIndex<EntryPlace>, problems: &[Problem]) -> bool {
        let is_new = self.seen.insert(written.text.clone());
        let edits = || problems.iter().filter_map(edit);
        let removed = edits().flat_map(|edit| &edit.removes).filter_map(|line| written.at(*line).cloned());
        let mut places: Vec<EntryPlace> = removed.collect();
        // An operation with a problem that no proposal corrects is a wrong guess.
        let wrong = problems.iter().filter(|problem| !is_new || edit(problem).is_none());
        let wrong: Vec<EntryPlace> = wrong.filter_map(|problem| written.at(problem.line).cloned()).collect();
        self.refused.extend(wrong.iter().filter_map(|place| outline.leaf(place)));
        places.extend(wrong);
        let mut is_changed = !places.is_empty();
        outline.remove(places);
        for problem in problems {
            is_changed |= match edit(problem) {
                Some(edit) if self.is_allowed(outline, written, edit) => outline.apply(edit),
                None if written.at(problem.line).is_some() => false,
                _ if outline.existing.is_some() => false,
                _ => self.separation.separate(outline, &written.text, problem),
            };
        }
        is_changed
    }

    /// Returns whether an edit contains no refused operation, and replaces no line of an existing definition.
    fn is_allowed(&self, outline: &Outline, written: &LineIndex<EntryPlace>, edit: &StepEdit) -> bool {
        let is_existing = |line: &u64| outline.existing.is_some() && written.at(*line).is_none();
        let leaves = outline.leaves(edit);
        !edit.removes.iter().any(is_existing) && !leaves.iter().any(|leaf| self.refused.contains(leaf))
    }
}

fn edit(problem: &Problem) -> Option<&StepEdit> {
    match &problem.remedy {
        Some(Remedy::Edit(edit)) => Some(edit),
        _ => None,
    }
}

/// Loads a definition.
pub(super) fn load(file: &str, text: &str, crd: &str) -> Result<Kind, BadDefinition> {
    Kind::load(file, text, &mut |_| -> io::Result<String> { Ok(crd.to_owned()) })
}
