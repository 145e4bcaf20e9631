//! What an examination of documents finds.

/// Something about a CRD or a webhook configuration that needs a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RegisteredFinding {
    /// Kind and name.
    pub document: String,
    /// What does not fit, and what comes of it.
    pub problem: String,
    /// The line to change, or the command that mends it.
    pub mend: String,
}
