//! What a connection is spoken on: a socket, or TLS on one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::lifecycle::Phase;
use crate::certificates::HTTP2;

/// Which HTTP a connection speaks. Known from ALPN, never guessed from the first bytes: a client that sends none would
/// be waited for without bound (hyper-util's `auto` does).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// HTTP/1.1, which is also what a client without ALPN gets.
    Http1,
    /// HTTP/2.
    Http2,
}

impl Protocol {
    /// When a connection is told to end. HTTP/2 says GOAWAY, which loses no stream. HTTP/1.1 has no such word between
    /// two answers (each says `Connection: close` by then): closing a connection that a client is about to use loses
    /// its request, so that one is kept until nobody asks any more.
    pub(super) fn leaves_at(self) -> Phase {
        match self {
            Self::Http1 => Phase::Closing,
            Self::Http2 => Phase::Draining,
        }
    }
}

/// A socket that HTTP can be spoken on.
#[derive(Debug)]
pub struct Stream(pub(super) Io);

#[derive(Debug)]
pub(super) enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// HTTP/1.1 without TLS.
    #[must_use]
    pub fn plain(socket: TcpStream) -> Self {
        Self(Io::Plain(socket))
    }

    /// Shakes hands, for as long as the client takes: a deadline is the caller's. What its error means says
    /// [`HandshakeFailure`](super::HandshakeFailure). Dropped, it is given up, and the socket closed.
    #[must_use]
    pub fn handshake(
        socket: TcpStream,
        config: Arc<ServerConfig>,
    ) -> Pin<Box<dyn Future<Output = io::Result<Self>> + Send>> {
        Box::pin(async move {
            let bounded = |connection: &mut ServerConnection| connection.set_buffer_limit(Some(BUFFER));
            let tls = TlsAcceptor::from(config).accept_with(socket, bounded).await?;
            Ok(Self(Io::Tls(Box::new(tls))))
        })
    }

    /// The certificate that the client showed. The handshake has verified it.
    #[must_use]
    pub fn client_certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.0 {
            Io::Plain(_) => None,
            Io::Tls(tls) => tls.get_ref().1.peer_certificates().and_then(<[_]>::first),
        }
    }

    /// What was agreed on.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match &self.0 {
            Io::Tls(tls) if tls.get_ref().1.alpn_protocol() == Some(HTTP2) => Protocol::Http2,
            _ => Protocol::Http1,
        }
    }
}

/// What is encrypted and not read yet, for each connection, in bytes: one record (RFC 8446, 5.1). A client that reads
/// nothing would have four times as much, which is what rustls allows by itself.
const BUFFER: usize = 16 << 10;
