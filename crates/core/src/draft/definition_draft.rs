//! A drafted definition.

use super::acceptance::Acceptance;
use super::arrangement::arranged;
use super::completion::{complete, load};
use super::entry::Entry;
use super::guess;
use super::outline::Outline;
use super::question::Question;
use super::step_outline::StepOutline;
use super::version_order::age;
use crate::definition::{BadDefinition, CrdVersions, Schema, Sides};

/// A definition guessed from the schemas of a CRD. It loads, and its comments contain the reasons and the open
/// questions.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Draft {
    /// The definition, as YAML.
    pub text: String,
    /// The number of operations in all steps.
    pub operations: usize,
    /// The number of entries of `accept` in all steps.
    pub acceptances: usize,
    /// The number of open questions, each a comment above its operation.
    pub questions: usize,
}

/// Why there is no draft.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The CRD cannot be read, or the API server refuses it.
    #[error("cannot read the CRD")]
    Crd(#[source] BadDefinition),
    /// There is nothing to convert.
    #[error("{kind} has one version, {version}, and a conversion needs two: add a version to the CRD")]
    OneVersion {
        /// `Kind.group`.
        kind: String,
        /// The version.
        version: String,
    },
    /// No operation can express a difference between the versions.
    #[error("no operation expresses a difference between the versions")]
    Inexpressible(#[source] BadDefinition),
}

impl Draft {
    /// Guesses a definition for a CRD. `crd` is the CRD as YAML or JSON, and `file` its path, relative to the
    /// definition.
    ///
    /// # Errors
    /// The text is no CRD, the CRD has one version, or no operation can express a difference between two versions.
    pub fn of_crd(crd: &str, file: &str) -> Result<Self, DraftError> {
        let CrdVersions { name, document, mut schemas } = CrdVersions::read(file, crd).map_err(DraftError::Crd)?;
        schemas.sort_by(|(one, _), (two, _)| age(one).cmp(&age(two)));
        if let [(version, _)] = schemas.as_slice() {
            return Err(DraftError::OneVersion { kind: name, version: version.clone() });
        }
        let crd = document.to_string();
        let neighbours = schemas.iter().zip(schemas.iter().skip(1));
        let (steps, questions): (Vec<_>, Vec<_>) = neighbours.map(|(older, newer)| step(older, newer)).unzip();
        let title = format!(
            "A draft of {name}, guessed from the schemas. Review each operation, each open question and each accepted \
             difference"
        );
        let mut outline = Outline { title, crd: file.to_owned(), steps, existing: None };
        complete(&mut outline, DRAFT, &crd).map_err(DraftError::Inexpressible)?;
        finish(&mut outline.steps, &questions);
        Ok(Self::of(&grouped(outline, DRAFT, &crd)))
    }

    fn of(outline: &Outline) -> Self {
        let entries = || outline.steps.iter().flat_map(|step| &step.entries);
        Self {
            text: outline.write().text,
            operations: entries().map(Entry::count).sum(),
            acceptances: outline.steps.iter().map(|step| step.accept.len()).sum(),
            questions: entries().map(Entry::questions).sum(),
        }
    }
}

/// The name of a draft in messages.
const DRAFT: &str = "draft";

/// Adds the questions to the operations of each step, and sorts the operations.
pub(super) fn finish(steps: &mut [StepOutline], questions: &[Vec<Question>]) {
    for (step, questions) in steps.iter_mut().zip(questions) {
        questions.iter().for_each(|question| question.add_to(&mut step.entries));
        step.entries = arranged(std::mem::take(&mut step.entries));
    }
}

/// Guesses a step, and the questions about fields without a counterpart.
pub(super) fn step(older: &(String, Schema), newer: &(String, Schema)) -> (StepOutline, Vec<Question>) {
    let ((older, one), (newer, two)) = (older, newer);
    let (entries, questions) = guess::step(Sides { older, newer }, Sides { older: one, newer: two });
    let versions = Sides { older: older.clone(), newer: newer.clone() };
    (StepOutline { versions, entries, accept: Vec::new() }, questions)
}

/// Puts the accepted differences of one path into one entry, if the definition still loads.
pub(super) fn grouped(outline: Outline, file: &str, crd: &str) -> Outline {
    let mut grouped = outline.clone();
    for step in &mut grouped.steps {
        step.accept = Acceptance::grouped(&step.accept);
    }
    match load(file, &grouped.write().text, crd) {
        Ok(_) => grouped,
        Err(_) => outline,
    }
}
