//! Metrics of the memory budget of requests and responses.

use prometheus::{Error, IntCounter, IntGauge};

use super::registry::Register;

/// The metrics of the budget.
#[derive(Debug)]
pub(crate) struct MemoryMetrics {
    budget: IntGauge,
    held: IntGauge,
    reclaimed: IntCounter,
}

impl MemoryMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            budget: new.add(IntGauge::new(
                "memory_budget_bytes",
                "Memory limit of concurrent requests and their responses.",
            ))?,
            held: new.add(IntGauge::new("memory_held_bytes", "Memory in use by requests and their responses."))?,
            reclaimed: new.add(IntCounter::new(
                "memory_reclaimed_total",
                "Requests aborted to free memory for others: incomplete bodies, unread responses.",
            ))?,
        })
    }

    /// Sets the size of the budget.
    pub(crate) fn budget(&self, bytes: u64) {
        self.budget.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Sets the reserved memory.
    pub(crate) fn held(&self, bytes: u64) {
        self.held.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts reclaimed requests.
    pub(crate) fn reclaimed(&self, requests: u64) {
        self.reclaimed.inc_by(requests);
    }
}
