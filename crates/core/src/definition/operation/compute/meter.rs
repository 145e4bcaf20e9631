//! The limits of one evaluation. Without them, a short expression could take hours or build a text of gigabytes.

/// Counts the work and the memory of an expression.
#[derive(Debug)]
pub(super) struct Meter {
    left: usize,
    memory: usize,
}

/// Why an expression returns no value. Its target then is absent, and the source is kept.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NoValue {
    /// An operation that has no result for its operands, such as `int("a")`.
    Error,
    /// More work or memory than the meter allows.
    Limit,
}

/// The maximum number of bytes of all results of an operation, for sources of this size.
pub(super) fn most_output(input: usize) -> usize {
    input.saturating_mul(FACTOR).saturating_add(GAIN)
}

/// Result bytes that are allowed for each source byte. A map entry `"a":"1",` becomes an item
/// `{"name":"a","value":"1"},` of three times its size.
pub(super) const FACTOR: usize = 4;

/// Result bytes that are allowed in addition.
pub(super) const GAIN: usize = 256;

/// The memory of an evaluation for each byte of its sources. An item of four bytes, such as `"a",`, needs 64 bytes for
/// the entry of a macro, 64 bytes for the result, and a text of some bytes: less than 4 times 48.
pub(in crate::definition) const MEMORY: u64 = 48;

/// The memory of an evaluation beyond that, in bytes.
pub(in crate::definition) const LEAST_MEMORY: u64 = 16 << 10;

/// The memory of a value in a list or map: the value, its key, and the counters of a shared text.
pub(super) const VALUE: usize = 64;

impl Meter {
    /// The limit is linear in the size of the input, so that a large request costs no more per byte than a small one.
    /// An expression of `nodes` parts may pass over a list once, with two bytes or more for each item, and compare each
    /// of 30 items with each other.
    pub(super) fn new(nodes: usize, input: usize) -> Self {
        let memory = input.saturating_mul(MEMORY as usize).saturating_add(LEAST_MEMORY as usize);
        Self { left: nodes.saturating_mul(input / 2 + 1024), memory }
    }

    /// Counts allocated bytes. They count until the end of the evaluation, unless they are released.
    pub(super) fn allocate(&mut self, bytes: usize) -> Result<(), NoValue> {
        self.memory = self.memory.checked_sub(bytes).ok_or(NoValue::Limit)?;
        Ok(())
    }

    /// The bytes that are left, for [`Self::restore`].
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Releases all bytes that were allocated since then.
    pub(super) fn restore(&mut self, memory: usize) {
        self.memory = memory;
    }

    /// Releases allocated bytes.
    pub(super) fn release(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_add(bytes);
    }

    /// Counts one step and this number of written bytes.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), NoValue> {
        self.left = self.left.checked_sub(1 + bytes / 8).ok_or(NoValue::Limit)?;
        Ok(())
    }
}
