//! The TLS settings of handshakes.

use std::sync::Arc;

use rustls::ServerConfig;

/// The current TLS configuration. Recreated after each file change.
#[derive(Clone, Debug)]
pub(crate) struct CurrentTls {
    pub(crate) config: Arc<ServerConfig>,
    /// The number of earlier changes of client authorities: a client verified by earlier authorities must be verified
    /// again.
    pub(crate) authorities: u64,
}
