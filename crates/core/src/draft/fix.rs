//! Completes an existing definition: adds the entries that its messages propose, and drafts of steps to newer versions
//! of its CRD.

use std::io;

use serde_json::Value;

use super::completion::{complete, load};
use super::definition_draft::{finish, grouped, step};
use super::entry::Entry;
use super::existing_text::{ExistingText, UnsupportedText};
use super::outline::Outline;
use super::question::Question;
use super::step_outline::StepOutline;
use super::version_order::age;
use crate::definition::{BadDefinition, CrdVersions, Kind, Problem, Schema};

/// A completed definition. Its lines contain those of the definition before, in the same order.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Fix {
    /// The definition, as YAML.
    pub text: String,
    /// The number of new steps.
    pub steps: usize,
    /// The number of new operations.
    pub operations: usize,
    /// The number of new entries of `accept`.
    pub acceptances: usize,
    /// The number of new open questions, each a comment above its operation.
    pub questions: usize,
    /// The problems that remain, with the lines of the new text. No proposal applies to them.
    pub problems: Vec<Problem>,
}

/// Why a definition cannot be completed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FixError {
    /// The definition or its CRD cannot be read.
    #[error("cannot read the definition")]
    Invalid(#[source] BadDefinition),
    /// The definition has no steps.
    #[error("the definition has no steps")]
    NoSteps,
    /// A list is not written as a block, with a line for each entry.
    #[error("line {line}: `{key}` is not a list with a line for each entry")]
    Layout {
        /// The line, from 1.
        line: u64,
        /// The key of the list.
        key: String,
    },
    /// New entries would change existing ones.
    #[error("new entries would change existing entries")]
    Changed,
}

impl Fix {
    /// Completes a definition. `file` is its name in messages, and `read` returns the text of its CRD by the name in
    /// the definition.
    ///
    /// # Errors
    /// The CRD cannot be read, or a list of the definition is not written as a block.
    pub fn of(file: &str, text: &str, read: &mut dyn FnMut(&str) -> io::Result<String>) -> Result<Self, FixError> {
        let invalid = |read: &mut dyn FnMut(&str) -> io::Result<String>| {
            Kind::load(file, text, read).err().map_or(FixError::NoSteps, FixError::Invalid)
        };
        let existing = match ExistingText::read(text) {
            Ok(existing) => existing,
            Err(UnsupportedText::Invalid) => return Err(invalid(read)),
            Err(UnsupportedText::NoSteps) => return Err(FixError::NoSteps),
            Err(UnsupportedText::Layout(line, key)) => return Err(FixError::Layout { line, key: key.to_owned() }),
        };
        let before: Value = serde_saphyr::from_str(text).unwrap_or_default();
        let crd_file = before.get("crd").and_then(Value::as_str).unwrap_or_default();
        let Ok(crd) = read(crd_file) else { return Err(invalid(read)) };
        let CrdVersions { document, schemas, .. } = CrdVersions::read(crd_file, &crd).map_err(FixError::Invalid)?;
        let crd = document.to_string();
        let before_count = existing.steps.len();
        let own = existing.steps.iter().map(|step| StepOutline {
            versions: step.versions.clone(),
            entries: Vec::new(),
            accept: Vec::new(),
        });
        let own = own.map(|step| (step, Vec::new()));
        let (steps, questions): (Vec<_>, Vec<_>) = own.chain(steps_to_newer_versions(&existing, schemas)).unzip();
        let mut outline = Outline { title: String::new(), crd: crd_file.to_owned(), steps, existing: Some(existing) };
        let completed = complete(&mut outline, file, &crd);
        finish(&mut outline.steps, &questions);
        if completed.is_ok() {
            outline = grouped(outline, file, &crd);
        }
        let text = outline.write().text;
        let problems = load(file, &text, &crd).err().map_or_else(Vec::new, |bad| bad.problems);
        if !extends(&before, &text, &outline) {
            return Err(FixError::Changed);
        }
        let entries = || outline.steps.iter().flat_map(|step| &step.entries);
        Ok(Self {
            text,
            steps: outline.steps.len() - before_count,
            operations: entries().map(Entry::count).sum(),
            acceptances: outline.steps.iter().map(|step| step.accept.len()).sum(),
            questions: entries().map(Entry::questions).sum(),
            problems,
        })
    }
}

/// Guesses the steps to versions that are newer than those of the definition.
fn steps_to_newer_versions(
    existing: &ExistingText,
    mut schemas: Vec<(String, Schema)>,
) -> Vec<(StepOutline, Vec<Question>)> {
    schemas.sort_by(|(one, _), (two, _)| age(one).cmp(&age(two)));
    let newest = existing.steps.last().map(|step| step.versions.newer.as_str());
    let from_newest: Vec<_> = schemas.iter().skip_while(|(name, _)| Some(name.as_str()) != newest).collect();
    from_newest.iter().zip(from_newest.iter().skip(1)).map(|(older, newer)| step(older, newer)).collect()
}

/// Returns whether a text is the definition with new entries at the ends of its lists and new steps, and nothing else.
fn extends(before: &Value, text: &str, outline: &Outline) -> bool {
    let Ok(mut after) = serde_saphyr::from_str::<Value>(text) else { return false };
    let new = |step: usize, key: &str| {
        let step = outline.steps.get(step);
        step.map_or(0, |step| if key == "accept" { step.accept.len() } else { step.entries.len() })
    };
    let own = before.get("steps").and_then(Value::as_array).map_or(0, Vec::len);
    let Some(steps) = after.get_mut("steps").and_then(Value::as_array_mut) else { return false };
    if steps.len() != outline.steps.len() {
        return false;
    }
    steps.truncate(own);
    for (index, step) in steps.iter_mut().enumerate() {
        let had = before.get("steps").and_then(|steps| steps.get(index)).and_then(Value::as_object);
        let Some(step) = step.as_object_mut() else { return false };
        for key in ["operations", "accept"] {
            let Some(list) = step.get_mut(key).and_then(Value::as_array_mut) else { continue };
            let Some(length) = list.len().checked_sub(new(index, key)) else { return false };
            list.truncate(length);
            if length == 0 && had.is_some_and(|had| !had.contains_key(key)) {
                step.remove(key);
            }
        }
    }
    after == *before
}
