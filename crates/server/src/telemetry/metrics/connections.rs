//! Connections.

use prometheus::{Error, IntCounter, IntCounterVec, IntGauge};

use super::registry::Register;
use pointsman_transport::connections::HandshakeFailure;

/// The metrics of connections.
#[derive(Debug)]
pub(crate) struct ConnectionMetrics {
    /// Connections of the webhook listener, handshakes included.
    pub(crate) open: IntGauge,
    limit: IntGauge,
    evicted: IntCounterVec,
    handshake_failures: IntCounterVec,
}

impl ConnectionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        let this = Self {
            open: new.add(IntGauge::new("webhook_connections", "Open connections to the webhook listener."))?,
            limit: new
                .add(IntGauge::new("webhook_connections_limit", "The most connections to the webhook listener."))?,
            evicted: new.counters(
                "connections_evicted_total",
                "Connections closed to make room for others: idle, or without a complete request.",
                &["listener"],
            )?,
            handshake_failures: new.counters(
                "tls_handshake_failures_total",
                "Failed TLS handshakes, by the aborting side and the reason.",
                &["reason"],
            )?,
        };
        for reason in HandshakeFailure::ALL {
            this.handshake_failures.with_label_values(&[reason.name()]).inc_by(0);
        }
        for listener in [ADMIN, WEBHOOKS] {
            this.evicted.with_label_values(&[listener]).inc_by(0);
        }
        Ok(this)
    }

    /// Sets the connection limit.
    pub(crate) fn limit(&self, connections: usize) {
        self.limit.set(i64::try_from(connections).unwrap_or(i64::MAX));
    }

    pub(crate) fn handshake_failed(&self, reason: HandshakeFailure) {
        self.handshake_failures.with_label_values(&[reason.name()]).inc();
    }

    /// Counts evicted connections of a listener.
    pub(crate) fn evicted(&self, listener: &'static str) -> IntCounter {
        self.evicted.with_label_values(&[listener])
    }
}

/// The `listener` label of probes and metrics.
pub(crate) const ADMIN: &str = "admin";

/// The `listener` label of the webhooks.
pub(crate) const WEBHOOKS: &str = "webhooks";
