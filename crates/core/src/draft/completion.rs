//! Completes a draft: applies the proposals of the reported problems until the definition loads.

use std::collections::BTreeSet;
use std::io;

use super::outline::{EntryPlace, Outline};
use super::separation::Separation;
use crate::definition::{BadDefinition, Kind, Problem, Remedy, StepEdit};

/// The maximum number of rounds. Each round applies all proposals; the deepest lists need a round for each level.
const ROUNDS: usize = 40;

/// Applies proposals until the definition loads. `crd` is the CRD as JSON.
///
/// # Errors
/// The problems that remain, if no proposal applies to them.
pub(super) fn complete(outline: &mut Outline, crd: &str) -> Result<(), BadDefinition> {
    let mut seen = BTreeSet::new();
    let mut separation = Separation::default();
    let mut rest = Ok(());
    for _ in 0..ROUNDS {
        let written = outline.write();
        let Err(bad) = load(&written.text, crd) else { return Ok(()) };
        let is_new = seen.insert(written.text.clone());
        let edits: Vec<&StepEdit> = bad.problems.iter().filter_map(edit).collect();
        let mut places: Vec<EntryPlace> =
            edits.iter().flat_map(|edit| &edit.removes).filter_map(|line| written.at(*line).cloned()).collect();
        // An operation with a problem that no proposal corrects is a wrong guess.
        let wrong = bad.problems.iter().filter(|problem| !is_new || edit(problem).is_none());
        places.extend(wrong.filter_map(|problem| written.at(problem.line).cloned()));
        let is_reduced = !places.is_empty();
        outline.remove(places);
        let mut is_changed = is_reduced;
        for edit in edits {
            is_changed |= outline.apply(edit);
        }
        let hopeless =
            bad.problems.iter().filter(|problem| edit(problem).is_none() && written.at(problem.line).is_none());
        for problem in hopeless {
            is_changed |= separation.separate(outline, problem);
        }
        rest = Err(bad);
        if !is_changed {
            break;
        }
    }
    rest
}

fn edit(problem: &Problem) -> Option<&StepEdit> {
    match &problem.remedy {
        Some(Remedy::Edit(edit)) => Some(edit),
        _ => None,
    }
}

/// Loads a definition.
pub(super) fn load(text: &str, crd: &str) -> Result<Kind, BadDefinition> {
    Kind::load("draft", text, &mut |_| -> io::Result<String> { Ok(crd.to_owned()) })
}
