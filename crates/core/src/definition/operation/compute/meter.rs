//! The limits of one evaluation. Without them, a short expression could take hours or build a text of gigabytes.

/// Counts the work of an expression.
#[derive(Debug)]
pub(super) struct Meter {
    left: usize,
}

/// Why an expression returns no value. Its target then is absent, and the source is kept.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NoValue {
    /// An operation that has no result for its operands, such as `int("a")`.
    Error,
    /// More work than the meter allows.
    Limit,
}

/// The maximum number of bytes that all results of an operation have more than its sources.
pub(super) const MOST_GAIN: usize = 256;

impl Meter {
    /// The limit is linear in the size of the input, so that a large request costs no more per byte than a small one.
    /// An expression of `nodes` parts may pass over a list once, with two bytes or more for each item, and compare each
    /// of 30 items with each other.
    pub(super) fn new(nodes: usize, input: usize) -> Self {
        Self { left: nodes.saturating_mul(input / 2 + 1024) }
    }

    /// Counts one step and this number of written bytes.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), NoValue> {
        self.left = self.left.checked_sub(1 + bytes / 8).ok_or(NoValue::Limit)?;
        Ok(())
    }
}
