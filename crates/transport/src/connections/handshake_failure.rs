//! Reasons of failed handshakes: a TCP probe is harmless, a refusal by a client is not.

use std::io;

use rustls::Error;

/// The reason of a failed handshake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandshakeFailure {
    /// The client certificate is from an unknown authority.
    ClientCertificate,
    /// The client disconnected without sending data, as TCP probes do.
    Closed,
    /// The client sent no TLS, or violated the protocol.
    Malformed,
    /// No common protocol, cipher or name.
    Nothing,
    /// The client refused the server: its `caBundle` does not match the certificate.
    Refused,
    /// Timeout.
    Timeout,
}

impl HandshakeFailure {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::ClientCertificate, Self::Closed, Self::Malformed, Self::Nothing, Self::Refused, Self::Timeout];

    /// The `reason` label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientCertificate => "client_certificate",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Nothing => "nothing_in_common",
            Self::Refused => "refused_by_client",
            Self::Timeout => "timeout",
        }
    }
}

impl From<&io::Error> for HandshakeFailure {
    fn from(error: &io::Error) -> Self {
        match error.get_ref().and_then(|error| error.downcast_ref()) {
            Some(Error::AlertReceived(_)) => Self::Refused,
            Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => Self::ClientCertificate,
            Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => Self::Nothing,
            Some(_) => Self::Malformed,
            None => Self::Closed,
        }
    }
}
