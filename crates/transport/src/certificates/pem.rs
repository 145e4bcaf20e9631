//! Reads and parses PEM files.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

use super::error::CertificateError;

/// The certificates of a PEM text, at least one.
pub(super) fn certificates(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let certificates: Vec<_> =
        CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().map_err(|error| malformed(path, &error))?;
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate { path: path.to_owned() });
    }
    Ok(certificates)
}

/// Own messages: those of the parser quote the file as byte lists.
pub(super) fn malformed(path: &Path, error: &pem::Error) -> CertificateError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no END line, the file may be cut off",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "a section cannot be read",
    };
    CertificateError::Pem { path: path.to_owned(), reason }
}

/// Reads a file at `now`; errors contain the given path.
pub(super) fn read(given: &Path, now: &Path) -> Result<Vec<u8>, CertificateError> {
    let failed = |source| CertificateError::Read { path: given.to_owned(), source };
    let too_large = || CertificateError::TooLarge { path: given.to_owned(), limit: LARGEST };
    // Before the open, which blocks on a pipe without a writer.
    let found = fs::metadata(now).map_err(failed)?;
    if !found.is_file() {
        return Err(CertificateError::NotAFile { path: given.to_owned() });
    }
    if found.len() > LARGEST {
        return Err(too_large());
    }
    let mut text = Vec::new();
    // The file may have grown.
    let file = File::open(now).map_err(failed)?;
    file.take(LARGEST + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST { Err(too_large()) } else { Ok(text) }
}

/// 1 MiB: the limit of a Secret or ConfigMap (Kubernetes `MaxSecretSize`); a chain has about 10 KiB.
const LARGEST: u64 = 1 << 20;
