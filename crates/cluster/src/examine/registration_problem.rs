//! Findings about documents.

/// A problem of a CRD or a webhook configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RegisteredFinding {
    /// Kind and name.
    pub document: String,
    /// The problem and its consequence.
    pub problem: String,
    /// The line to change, or the command that fixes it.
    pub fix: String,
}
