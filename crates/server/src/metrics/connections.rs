//! Connections of the webhook listener.

use prometheus::{Error, IntCounter, IntGauge};

use super::registry::Register;

/// The metrics of connections.
#[derive(Debug)]
pub(crate) struct ConnectionMetrics {
    /// Connections of the webhook listener, handshakes included.
    pub(crate) open: IntGauge,
    /// Handshakes that failed or took too long.
    pub(crate) handshake_failures: IntCounter,
}

impl ConnectionMetrics {
    pub(super) fn new(new: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            open: new.add(IntGauge::new(
                "webhook_connections",
                "Open connections to the webhook listener.",
            ))?,
            handshake_failures: new.add(IntCounter::new(
                "tls_handshake_failures_total",
                "TLS handshakes that failed, or did not finish in time.",
            ))?,
        })
    }
}
