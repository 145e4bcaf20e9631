//! The peer of a connection.

use std::net::SocketAddr;

use tokio::time::Instant;

/// The peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) addr: SocketAddr,
    /// Its client certificate, verified by the handshake.
    pub(super) certified: Option<Certified>,
}

/// The properties of a client certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Certified {
    /// True if its name is allowed.
    pub(super) allowed: bool,
    /// When it expires.
    pub(super) until: Instant,
    /// The version of the authorities that verified it: [`CurrentTls::authorities`](super::current_tls::CurrentTls).
    pub(super) authorities: u64,
}
