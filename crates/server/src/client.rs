//! Who is at the other end of a connection.

use std::net::SocketAddr;

use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;

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
    /// Under which authorities it was verified: [`Serving::authorities`](super::serving::Serving).
    pub(super) authorities: u64,
}

/// Whether the common name of a certificate is among `names`; any is where there are none. This is the rule of
/// kube-apiserver's `--requestheader-allowed-names`.
pub(super) fn is_allowed(certificate: &CertificateDer<'_>, names: &[String]) -> bool {
    if names.is_empty() {
        return true;
    }
    let certificate = Certificate::from_der(certificate);
    let name = certificate.and_then(|parsed| parsed.tbs_certificate().subject().common_name());
    name.is_ok_and(|name| name.is_some_and(|name| names.iter().any(|allowed| *allowed == *name.value())))
}
