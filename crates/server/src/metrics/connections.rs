//! Connections.

use prometheus::{Error, IntCounter, IntCounterVec, IntGauge};

use super::registry::Register;

/// The metrics of connections.
#[derive(Debug)]
pub(crate) struct ConnectionMetrics {
    /// Connections of the webhook listener, handshakes included.
    pub(crate) open: IntGauge,
    evicted: IntCounterVec,
    /// Handshakes that failed or took too long.
    pub(crate) handshake_failures: IntCounter,
}

impl ConnectionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let this = Self {
            open: new.add(IntGauge::new("webhook_connections", "Open connections to the webhook listener."))?,
            evicted: new.counters(
                "connections_evicted_total",
                "Connections closed to make room for others: idle ones, or such that sent no whole request.",
                &["listener"],
            )?,
            handshake_failures: new.add(IntCounter::new(
                "tls_handshake_failures_total",
                "TLS handshakes that failed, or did not finish in time.",
            ))?,
        };
        for listener in [ADMIN, WEBHOOKS] {
            this.evicted.with_label_values(&[listener]).inc_by(0);
        }
        Ok(this)
    }

    /// Counts the connections of a listener that had to go.
    pub(crate) fn evicted(&self, listener: &'static str) -> IntCounter {
        self.evicted.with_label_values(&[listener])
    }
}

/// The `listener` label of probes and metrics.
pub(crate) const ADMIN: &str = "admin";

/// The `listener` label of the webhooks.
pub(crate) const WEBHOOKS: &str = "webhooks";
