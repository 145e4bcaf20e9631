//! Certificates that somebody is about to trust as authorities, looked at before that.

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::leaf::Leaf;

/// What is to be said of a certificate that is no authority, or none any more. Counted from 1, as they stand in the
/// file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityRemark {
    /// Its time is over, or has not come.
    #[error("certificate {number} is not valid now: its time ends at {ends}")]
    NotValidNow {
        /// Which one.
        number: usize,
        /// The last second in which it is good.
        ends: String,
    },
    /// It is what a server shows, not what signed that. Go takes it all the same (crypto/x509, `Certificate.Verify`).
    #[error(
        "certificate {number} is no authority but one that a server shows{names}: calls fail as soon as that is renewed, \
         so give the authority that issued it"
    )]
    NotAnAuthority {
        /// Which one.
        number: usize,
        /// Whose it is.
        names: String,
    },
}

/// A section that calls itself a certificate and is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("certificate {number} in it is damaged, or something else")]
pub struct NoCertificate {
    /// Which one, counted from 1.
    pub number: usize,
}

/// Looks at the certificates in a PEM text.
///
/// # Errors
/// One is none.
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
            let names = if names.is_empty() { names } else { format!(" as {names}") };
            remarks.push(AuthorityRemark::NotAnAuthority { number, names });
        }
        if read.judge_time(now).is_err() {
            remarks.push(AuthorityRemark::NotValidNow { number, ends: read.expires });
        }
    }
    Ok(remarks)
}
