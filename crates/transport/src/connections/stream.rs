//! The stream of a connection: a socket, with or without TLS.

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

/// The HTTP version of a connection. Taken from ALPN, never guessed from the first bytes: a silent client would block
/// without limit (as in hyper-util's `auto`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// HTTP/1.1, also used for a client without ALPN.
    Http1,
    /// HTTP/2.
    Http2,
}

impl Protocol {
    /// The phase in which a connection is ended. HTTP/2 has GOAWAY, which loses no stream. HTTP/1.1 has no signal
    /// between two responses (each has `Connection: close` by then): closing a connection that a client is about to use
    /// loses its request, so it stays open until requests cease.
    pub(super) fn leaves_at(self) -> Phase {
        match self {
            Self::Http1 => Phase::Closing,
            Self::Http2 => Phase::Draining,
        }
    }
}

/// A socket for HTTP.
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

    /// Performs the TLS handshake; the caller sets a time limit. [`HandshakeFailure`](super::HandshakeFailure)
    /// classifies its errors. Dropping the future closes the socket.
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

    /// The client certificate, verified by the handshake.
    #[must_use]
    pub fn client_certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.0 {
            Io::Plain(_) => None,
            Io::Tls(tls) => tls.get_ref().1.peer_certificates().and_then(<[_]>::first),
        }
    }

    /// The negotiated protocol.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match &self.0 {
            Io::Tls(tls) if tls.get_ref().1.alpn_protocol() == Some(HTTP2) => Protocol::Http2,
            _ => Protocol::Http1,
        }
    }
}

/// Maximum bytes of encrypted data per connection that the client has not read: one record (RFC 8446, 5.1). By default,
/// rustls allows four times as much.
const BUFFER: usize = 16 << 10;
