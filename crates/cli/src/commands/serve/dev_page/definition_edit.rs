//! A definition that is edited in the page.

use std::io;
use std::time::{Duration, Instant};

use pointsman_core::definition::{BadDefinition, Kind, embedded_crd};
use pointsman_core::draft::{Draft, DraftError};
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_rollout::check_definition;

use crate::commands::input::read_crd;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::{KindsArgs, relative_to};
use crate::commands::serve::trial::{broken, cause, surveyed};

/// The definition that the page sends instead of a served one.
pub(super) struct DefinitionEdit<'q> {
    pub(super) text: &'q str,
    /// The served kind that it replaces, as `Kind.group`, whose CRD it has.
    pub(super) kind: &'q str,
    /// A CRD of its own.
    pub(super) crd: Option<&'q str>,
}

/// A problem of a definition at a line. 0 if there is none.
pub(super) struct DefinitionProblem {
    line: u64,
    is_error: bool,
    message: String,
}

impl DefinitionProblem {
    pub(super) fn error(line: u64, message: impl Into<String>) -> Self {
        Self { line, is_error: true, message: message.into() }
    }

    pub(super) fn json(&self) -> JsonTree {
        JsonTree::object([
            ("line", JsonTree::Number(self.line.to_string())),
            ("severity", JsonTree::string(if self.is_error { "error" } else { "warning" })),
            ("message", JsonTree::string(crate::terminal::escaped(&self.message))),
        ])
    }
}

impl DefinitionEdit<'_> {
    /// The webhook with this definition alone, and its warnings.
    ///
    /// # Errors
    /// All problems of the definition, or a law that it breaks.
    pub(super) fn webhook(
        &self,
        served: &KindsArgs,
    ) -> Result<(Webhook, Vec<DefinitionProblem>), Vec<DefinitionProblem>> {
        let checked = |kind| check_definition(&kind).map(|()| kind);
        let kind = self.compiled(served).and_then(checked).map_err(|bad| {
            let problems = bad.problems.into_iter();
            problems.map(|problem| DefinitionProblem::error(problem.line, problem.message)).collect::<Vec<_>>()
        })?;
        let warning = |line, message: &str| DefinitionProblem { line, is_error: false, message: message.to_owned() };
        let warnings = kind.warnings().iter().map(|doubt| warning(doubt.line, &doubt.message)).collect();
        let one = |message: String| vec![DefinitionProblem::error(0, message)];
        let webhook = Webhook::new(vec![kind], Metadata::Full).map_err(|error| one(error.to_string()))?;
        if let Some(broken) = webhook.kinds().first().and_then(|kind| broken_law(&webhook, kind)) {
            return Err(vec![broken]);
        }
        Ok((webhook, warnings))
    }

    fn compiled(&self, served: &KindsArgs) -> Result<Kind, BadDefinition> {
        if let Some(crd) = self.crd {
            return Kind::from_crd(self.text, crd);
        }
        let known = served.load().unwrap_or_default();
        let Some(known) = known.iter().find(|known| title(&known.kind) == self.kind) else {
            return Kind::load("definition", self.text, &mut |crd| Err(not_found(format!("drop {crd} onto the page"))));
        };
        let Some(file) = known.files.first() else {
            return Kind::from_crd(self.text, embedded_crd(known.kind.name()).unwrap_or_default());
        };
        // Only files that the served definition names: other users of this machine reach the page too.
        Kind::load("definition", self.text, &mut |crd| {
            let path = relative_to(file, crd);
            match known.files.contains(&path) {
                true => read_crd(&path),
                false => Err(not_found("the page reads only the CRD of the served definition".to_owned())),
            }
        })
    }
}

fn not_found(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, why)
}

/// A draft of a definition for a CRD.
///
/// # Errors
/// Why there is none.
pub(super) fn drafted(crd: &str) -> Result<String, Vec<DefinitionProblem>> {
    let draft = Draft::of_crd(crd, "dropped.crd.yaml").map_err(|error| match error {
        DraftError::Crd(bad) | DraftError::Inexpressible(bad) => {
            bad.problems.into_iter().map(|problem| DefinitionProblem::error(0, problem.message)).collect()
        }
        error => vec![DefinitionProblem::error(0, error.to_string())],
    })?;
    Ok(draft.text)
}

/// The name of a kind in the page.
pub(super) fn title(kind: &Kind) -> String {
    format!("{}.{}", kind.kind(), kind.group())
}

/// The first law that the definition breaks, if a short trial finds one.
fn broken_law(webhook: &Webhook, kind: &Kind) -> Option<DefinitionProblem> {
    let started = Instant::now();
    let survey = surveyed(webhook, kind, CASES, &mut || started.elapsed() < TRIAL);
    let broken = broken(&survey)?;
    let message = format!("{}: {}", cause(broken), broken.message);
    Some(DefinitionProblem::error(broken.line, message))
}

/// The objects for each law, pair of versions and direction.
const CASES: u64 = 10;

/// The time limit of a trial: people wait for it after each pause in typing.
const TRIAL: Duration = Duration::from_millis(400);
