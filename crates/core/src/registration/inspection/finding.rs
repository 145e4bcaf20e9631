//! Findings about registered documents.

/// A problem of a registration.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The document, as `Kind name`.
    pub document: String,
    /// The problem, and its consequence.
    pub problem: String,
    /// The line to change, or the document to apply.
    pub change: String,
}
