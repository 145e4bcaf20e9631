//! Who is at the other end of a connection.

use std::net::SocketAddr;

use tokio::time::Instant;

/// The other end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) addr: SocketAddr,
    /// Whether it showed a certificate, which the handshake then verified.
    pub(super) certified: Option<Certified>,
}

/// What the handshake found out about a client's certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Certified {
    /// Whether its name is one of those that are let in.
    pub(super) allowed: bool,
    /// When it expires.
    pub(super) until: Instant,
    /// Under which authorities it was verified: [`CurrentTls::authorities`](super::current_tls::CurrentTls).
    pub(super) authorities: u64,
}
