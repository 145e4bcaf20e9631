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
                "What requests and their answers may hold at one time.",
            ))?,
            held: new.add(IntGauge::new(
                "memory_held_bytes",
                "What requests and their answers hold of the budget.",
            ))?,
            reclaimed: new.add(IntCounter::new(
                "memory_reclaimed_total",
                "Requests given up because others needed the memory that they held: bodies that did not arrive, answers that were not read.",
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
