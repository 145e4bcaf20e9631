//! The findings of a check.

use crate::apimachinery::FieldError;

/// The errors and warnings of a write.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<FieldError>,
    /// Errors that existed before, and are accepted.
    pub(super) known: Vec<FieldError>,
    pub(super) warnings: Vec<String>,
}

impl Findings {
    /// Accepts all errors.
    pub(super) fn excuse(&mut self) {
        self.known.append(&mut self.errors);
    }
}
