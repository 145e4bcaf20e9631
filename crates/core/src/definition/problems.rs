//! The problems of a definition with their lines. Loading collects all problems in one run.

use std::fmt;

use super::remedy::Remedy;

/// An error in a definition.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// The file of the definition.
    pub file: String,
    /// The line, from 1. 0 if there is none.
    pub line: u64,
    /// The error and its correction, with the path.
    pub message: String,
    /// The first change that the message proposes, if any.
    pub remedy: Option<Remedy>,
}

impl Problem {
    /// A problem without a proposed change. `line` counts from 1, and is 0 if there is none.
    #[must_use]
    pub fn new(file: &str, line: u64, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into(), remedy: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// A doubtful part of a definition that loads.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The line in the definition, from 1.
    pub line: u64,
    /// What readers see, and the operation that converts, with the paths.
    pub message: String,
}

/// A rejected definition.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadDefinition {
    /// All problems, sorted by line.
    pub problems: Vec<Problem>,
}

/// Collects the problems of one definition during loading.
pub struct Problems {
    file: String,
    /// The newer version of the current step.
    step: String,
    list: Vec<Problem>,
}

impl Problems {
    /// No problems yet. `file` is the name of the definition in messages.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), step: String::new(), list: Vec::new() }
    }

    /// The name of the definition in messages.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Adds a problem. `line` counts from 1, and is 0 if there is none.
    pub fn add(&mut self, line: u64, message: impl Into<String>) {
        self.list.push(Problem { file: self.file.clone(), line, message: message.into(), remedy: None });
    }

    /// Adds a problem with the first change that its message proposes.
    pub(super) fn advise(&mut self, line: u64, message: impl Into<String>, remedy: Remedy) {
        let remedy = Some(remedy.of_step(&self.step));
        self.list.push(Problem { file: self.file.clone(), line, message: message.into(), remedy });
    }

    /// Sets the step that later remedies change, by the version that it leads to.
    pub(super) fn enter_step(&mut self, to: &str) {
        to.clone_into(&mut self.step);
    }

    /// Returns the value if it exists and there are no problems.
    ///
    /// # Errors
    /// The problems, sorted by line.
    pub fn into_result<T>(mut self, value: Option<T>) -> Result<T, BadDefinition> {
        match value {
            Some(value) if self.list.is_empty() => Ok(value),
            _ => {
                self.list.sort_by_key(|problem| problem.line);
                self.list.dedup();
                Err(BadDefinition { problems: self.list })
            }
        }
    }
}
