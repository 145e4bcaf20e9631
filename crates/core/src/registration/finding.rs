//! What a look at registered documents finds.

/// Something that does not fit.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The document, as `Kind name`.
    pub document: String,
    /// What does not fit, and what comes of it.
    pub problem: String,
    /// The line to change, or what to apply.
    pub change: String,
}
