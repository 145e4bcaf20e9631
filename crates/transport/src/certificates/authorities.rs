//! Checks certificates that are about to be trusted as authorities.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::leaf::Leaf;

/// A problem of a certificate as authority. Numbers are positions in the file, from 1.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityRemark {
    /// Expired, or not valid yet.
    #[error("certificate {number} is not valid now: its validity ends at {ends}")]
    NotValidNow {
        /// The position.
        number: usize,
        /// The last second of its validity.
        ends: String,
    },
    /// A server certificate instead of its authority. Go accepts it regardless (crypto/x509, `Certificate.Verify`).
    #[error(
        "certificate {number} is no authority but a server certificate{names}: calls fail after its renewal, so \
             use the authority that issued it"
    )]
    NotAnAuthority {
        /// The position.
        number: usize,
        /// Its names.
        names: String,
    },
}

/// A section with certificate markers and other content.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("certificate {number} is damaged, or is no certificate")]
pub struct NoCertificate {
    /// The position, from 1.
    pub number: usize,
}

/// Checks the certificates of a PEM text.
///
/// # Errors
/// A section is not a certificate.
pub fn authority_remarks(pem: &[u8]) -> Result<Vec<AuthorityRemark>, NoCertificate> {
    // Before 1970 no certificate is valid.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut remarks = Vec::new();
    for (index, der) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let number = index + 1;
        let none = NoCertificate { number };
        let certificate = Certificate::from_der(&der.map_err(|_| none)?).map_err(|_| none)?;
        let read = Leaf::read(&certificate).map_err(|_| none)?;
        if !read.is_authority() {
            let names = read.names();
            let names = if names.is_empty() { names } else { format!(" for {names}") };
            remarks.push(AuthorityRemark::NotAnAuthority { number, names });
        }
        if read.judge_time(now).is_err() {
            remarks.push(AuthorityRemark::NotValidNow { number, ends: read.expires });
        }
    }
    Ok(remarks)
}
