//! The verdict of a report, on its first line.

use std::fmt;
use std::process::ExitCode;

use super::output::counted;

/// What a report means for its reader.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    /// A sentence without a period.
    pub(crate) why: String,
}

/// The outcome of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// The next step is safe.
    Good,
    /// The next step would be refused, or would do less than asked.
    Blocked,
    /// The next step would lose data or make objects unreadable.
    Unsafe,
}

impl Outcome {
    /// The outcome for people.
    fn words(self) -> &'static str {
        match self {
            Self::Good => "OK",
            Self::Blocked => "BLOCKED",
            Self::Unsafe => "NOT SAFE",
        }
    }

    /// The outcome for programs, and as a class of HTML elements.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Blocked => "blocked",
            Self::Unsafe => "notSafe",
        }
    }
}

impl Verdict {
    pub(crate) fn new(outcome: Outcome, why: impl Into<String>) -> Self {
        Self { outcome, why: why.into() }
    }

    /// The exit code of a command that only reports.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.outcome == Outcome::Good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// The verdict of a check that lists findings.
    pub(crate) fn of_findings(count: usize) -> Self {
        match count {
            0 => Self::new(Outcome::Good, "no findings"),
            _ => Self::new(Outcome::Blocked, counted(count, "finding")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.outcome.words(), self.why)
    }
}
