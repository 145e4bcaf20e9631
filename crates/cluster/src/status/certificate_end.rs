//! The expiry of a certificate.

use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The last second of a certificate's validity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertificateEnd {
    /// In seconds since 1970.
    pub seconds: u64,
    /// As text.
    pub text: String,
}

impl CertificateEnd {
    /// Parses DER; `None` if invalid.
    pub(super) fn of(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?;
        let end = certificate.tbs_certificate().validity().not_after;
        Some(Self { seconds: end.to_unix_duration().as_secs(), text: end.to_string() })
    }

    /// Days left, at a time in seconds since 1970; `None` if expired.
    #[must_use]
    pub fn days_left(&self, now: u64) -> Option<u64> {
        Some(self.seconds.checked_sub(now)? / DAY)
    }
}

/// In seconds.
const DAY: u64 = 24 * 60 * 60;
