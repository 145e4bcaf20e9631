//! The peer of a connection.

use std::net::SocketAddr;

use tokio::time::Instant;

/// The peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) addr: SocketAddr,
    /// Its client certificate, verified by the handshake.
    pub(crate) certified: Option<Certified>,
}

/// The properties of a client certificate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certified {
    /// True if its name is allowed.
    pub(crate) allowed: bool,
    /// When it expires.
    pub(crate) until: Instant,
    /// The version of the authorities that verified it, as in
    /// [`CurrentTls`](crate::runtime::current_tls::CurrentTls).
    pub(crate) authorities: u64,
}
