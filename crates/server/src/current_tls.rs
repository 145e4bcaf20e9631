//! What handshakes use.

use std::sync::Arc;

use rustls::ServerConfig;

/// The TLS configuration of the moment. A new one is made whenever a file changed.
#[derive(Clone, Debug)]
pub(super) struct CurrentTls {
    pub(super) config: Arc<ServerConfig>,
    /// How often the authorities of client certificates have changed before it: a client that was verified under others
    /// has to be verified again.
    pub(super) authorities: u64,
}
