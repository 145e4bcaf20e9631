//! What is wrong with a definition, and in which line: collected, so that one run tells all of it.

use std::fmt;

use serde_saphyr::Spanned;

use super::remedy::Remedy;

/// Something a definition says that cannot be so.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// The definition's file.
    pub file: String,
    /// The line, from 1; 0 where there is none.
    pub line: u64,
    /// What is wrong and what would be right, with the path.
    pub message: String,
    /// The first change that the message proposes, where it proposes one.
    pub remedy: Option<Remedy>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// A definition that was refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadDefinition {
    /// All that is wrong with it, in the order of the lines.
    pub problems: Vec<Problem>,
}

/// The problems of one definition, while it is read.
pub(crate) struct Problems {
    file: String,
    /// The newer version of the step that is read.
    step: String,
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), step: String::new(), list: Vec::new() }
    }

    pub(super) fn add(&mut self, line: u64, message: impl Into<String>) {
        self.list.push(Problem { file: self.file.clone(), line, message: message.into(), remedy: None });
    }

    /// Adds a problem with the first change that its message proposes.
    pub(super) fn advise(&mut self, line: u64, message: impl Into<String>, remedy: Remedy) {
        let remedy = Some(remedy.of_step(&self.step));
        self.list.push(Problem { file: self.file.clone(), line, message: message.into(), remedy });
    }

    /// Remedies from here on change the step that leads to a version.
    pub(super) fn enter_step(&mut self, to: &str) {
        to.clone_into(&mut self.step);
    }

    /// The value, if there is one and nothing is wrong with it.
    pub(super) fn into_result<T>(mut self, value: Option<T>) -> Result<T, BadDefinition> {
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

/// The line something stands in.
pub(crate) fn line<T>(spanned: &Spanned<T>) -> u64 {
    spanned.referenced.line()
}
