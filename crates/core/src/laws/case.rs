//! A case of a law.

use super::conversion_path::Trip;
use super::coverage::Coverage;
use super::value::Value;

/// The input of a law.
pub(super) struct Case<'c> {
    pub(super) trip: &'c Trip<'c>,
    pub(super) object: &'c Value,
    /// For random choices.
    pub(super) seed: u64,
    pub(super) coverage: &'c mut Coverage,
}
