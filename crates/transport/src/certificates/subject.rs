//! Whose a client's certificate is, and until when.

use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Whether the common name of a certificate is among `names`; any is where there are none. This is the rule of
/// kube-apiserver's `--requestheader-allowed-names`. A certificate that cannot be read has no name.
#[must_use]
pub fn is_allowed(certificate: &CertificateDer<'_>, names: &[String]) -> bool {
    if names.is_empty() {
        return true;
    }
    let certificate = Certificate::from_der(certificate);
    let name = certificate.and_then(|parsed| parsed.tbs_certificate().subject().common_name());
    name.is_ok_and(|name| name.is_some_and(|name| names.iter().any(|allowed| *allowed == *name.value())))
}

/// How long a certificate is good from now on; nothing is left of one that has expired, or that cannot be read.
#[must_use]
pub fn ends(certificate: &CertificateDer<'_>) -> Duration {
    let certificate = Certificate::from_der(certificate);
    let last = certificate.map(|parsed| parsed.tbs_certificate().validity().not_after.to_system_time());
    last.map_or(Duration::ZERO, |last| last.duration_since(SystemTime::now()).unwrap_or_default())
}
