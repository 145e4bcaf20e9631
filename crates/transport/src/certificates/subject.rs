//! Name and expiry of a client certificate.

use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// True if the common name of a certificate is among `names`, or if `names` is empty: the rule of kube-apiserver's
/// `--requestheader-allowed-names`. An unreadable certificate has no name.
#[must_use]
pub fn is_allowed(certificate: &CertificateDer<'_>, names: &[String]) -> bool {
    if names.is_empty() {
        return true;
    }
    let certificate = Certificate::from_der(certificate);
    let name = certificate.and_then(|parsed| parsed.tbs_certificate().subject().common_name());
    name.is_ok_and(|name| name.is_some_and(|name| names.iter().any(|allowed| *allowed == *name.value())))
}

/// The remaining validity of a certificate; zero if expired or unreadable.
#[must_use]
pub fn ends(certificate: &CertificateDer<'_>) -> Duration {
    let certificate = Certificate::from_der(certificate);
    let last = certificate.map(|parsed| parsed.tbs_certificate().validity().not_after.to_system_time());
    last.map_or(Duration::ZERO, |last| last.duration_since(SystemTime::now()).unwrap_or_default())
}
