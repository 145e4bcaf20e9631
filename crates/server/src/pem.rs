//! PEM files: read, and what they hold.

use std::fs;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

use super::certificate_error::CertificateError;

/// The certificates in a PEM text, at least one.
pub(super) fn certificates(
    path: &Path,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|error| malformed(path, &error))?;
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate { path: path.to_owned() });
    }
    Ok(certificates)
}

/// In our words: the parser's quote the file, as lists of bytes.
pub(super) fn malformed(path: &Path, error: &pem::Error) -> CertificateError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => {
            "a section has no END line, the file may be cut off"
        }
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "a section cannot be read",
    };
    CertificateError::Pem { path: path.to_owned(), reason }
}

/// Reads a file where it is `now`; errors name it as it was given.
pub(super) fn read(given: &Path, now: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(now).map_err(|source| CertificateError::Read { path: given.to_owned(), source })
}
