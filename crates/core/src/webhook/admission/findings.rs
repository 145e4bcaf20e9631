//! What a check found.

use crate::apimachinery::FieldError;

/// What is wrong with a write, and what its author should know.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<FieldError>,
    /// What was wrong before, and is left alone.
    pub(super) known: Vec<FieldError>,
    pub(super) warnings: Vec<String>,
}

impl Findings {
    /// Lets pass what is wrong already.
    pub(super) fn excuse(&mut self) {
        self.known.append(&mut self.errors);
    }
}
