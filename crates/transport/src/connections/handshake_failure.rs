//! Why a handshake came to nothing: a probe that knocks is nothing to wake anybody for, a client that refuses us is.

use std::io;

use rustls::Error;

/// Why a handshake came to nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandshakeFailure {
    /// The client showed a certificate that is none of the client authorities'.
    ClientCertificate,
    /// The client left without a word, as TCP probes do.
    Closed,
    /// What the client sent is no TLS, or broke its rules.
    Malformed,
    /// We have no protocol, cipher or name in common.
    Nothing,
    /// The client refused us: its `caBundle` does not fit our certificate.
    Refused,
    /// It took too long.
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
