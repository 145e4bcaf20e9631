//! A certificate and its key on disk: read as of one moment, and checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::VerifierBuilderError;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::{self, Decode};

/// Where the certificate to serve and its key are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertPaths {
    /// PEM: the leaf first, then what leads to the authority.
    pub cert: PathBuf,
    /// PEM: PKCS#8, PKCS#1 or SEC 1.
    pub key: PathBuf,
}

impl CertPaths {
    /// The files as they are at this moment.
    ///
    /// A kubelet swaps a mounted volume by renaming one link, `..data` (Kubernetes pkg/volume/util/atomic_writer.go).
    /// Following that link once, for both files, keeps the certificate of one moment from being paired with the key of
    /// another. Without it, the directory itself may be such a link.
    fn resolve(&self) -> Self {
        let cert_dir = directory(&self.cert);
        let cert_real = real(cert_dir);
        let key_dir = directory(&self.key);
        let key_real = if key_dir == cert_dir { cert_real.clone() } else { real(key_dir) };
        Self { cert: beneath(&cert_real, &self.cert), key: beneath(&key_real, &self.key) }
    }
}

/// A certificate that can be served, and what there is to say about it.
#[derive(Clone, Debug)]
pub(super) struct ServingPair {
    pub(super) key: Arc<CertifiedKey>,
    /// SHA-256 of the leaf, in hex.
    pub(super) fingerprint: String,
    /// When the leaf expires, in seconds since the epoch.
    pub(super) not_after: u64,
    /// The same for people.
    pub(super) expires: String,
}

impl PartialEq for ServingPair {
    /// The whole chain, since an intermediate may be renewed alone. Not the key: that it belongs to the leaf was
    /// checked, so that another key means another leaf.
    fn eq(&self, other: &Self) -> bool {
        self.key.cert == other.key.cert
    }
}

/// Why a certificate, or a file of authorities, cannot be used. What was used before goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// A certificate is not one.
    #[error("certificate {position} in {} is malformed", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        position: usize,
        /// What is wrong with it.
        source: der::Error,
    },
    /// The files are of two different pairs; during a change, the next look finds them in agreement.
    #[error("the private key in {} does not belong to the certificate in {}", key.display(), cert.display())]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// There is no certificate in the file.
    #[error("no certificate in {}", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// There is no private key in the file.
    #[error("no private key in {}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The file is not whole, or not PEM.
    #[error("{} is not valid PEM: {reason}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// rustls does not take it.
    #[error("{} cannot be used", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// No verifier can be made of the authorities.
    #[error("{} cannot be used for client certificates", path.display())]
    Verifier {
        /// The file.
        path: PathBuf,
        /// Why.
        source: VerifierBuilderError,
    },
}

/// Reads a pair and checks that it can be served.
///
/// # Errors
/// [`PairError`], each with the path as it was given.
pub(super) fn load_pair(paths: &CertPaths) -> Result<ServingPair, PairError> {
    let mut now = paths.resolve();
    for _ in 0..SWAPS {
        let error = match read_pair(paths, &now) {
            Ok(pair) => return Ok(pair),
            Err(error) => error,
        };
        // A swap may have removed what we were reading: then there is something newer to read.
        let before = std::mem::replace(&mut now, paths.resolve());
        if now == before {
            return Err(error);
        }
    }
    read_pair(paths, &now)
}

fn read_pair(paths: &CertPaths, now: &CertPaths) -> Result<ServingPair, PairError> {
    let chain = certificates(&paths.cert, &read(&paths.cert, &now.cert)?)?;
    let key = match PrivateKeyDer::from_pem_slice(&read(&paths.key, &now.key)?) {
        Ok(key) => key,
        Err(pem::Error::NoItemsFound) => {
            return Err(PairError::NoKey { path: paths.key.clone() });
        }
        Err(error) => return Err(malformed(&paths.key, &error)),
    };
    // All of them: a chain that breaks off half-way would only be noticed by the clients.
    let mut parsed = Vec::with_capacity(chain.len());
    for (index, certificate) in chain.iter().enumerate() {
        parsed.push(Certificate::from_der(certificate).map_err(|source| {
            PairError::Certificate { path: paths.cert.clone(), position: index + 1, source }
        })?);
    }
    let (Some(leaf), Some(leaf_der)) = (parsed.first(), chain.first()) else {
        return Err(PairError::NoCertificate { path: paths.cert.clone() });
    };
    let not_after = leaf.tbs_certificate().validity().not_after;
    let fingerprint = Sha256::digest(leaf_der).iter().map(|byte| format!("{byte:02x}")).collect();
    let key =
        CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|source| {
            match source {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    PairError::Mismatch { cert: paths.cert.clone(), key: paths.key.clone() }
                }
                source => PairError::Refused { path: paths.cert.clone(), source },
            }
        })?;
    Ok(ServingPair {
        key: Arc::new(key),
        fingerprint,
        not_after: not_after.to_unix_duration().as_secs(),
        expires: not_after.to_string(),
    })
}

pub(super) fn certificates(
    path: &Path,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, PairError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|error| malformed(path, &error))?;
    if certificates.is_empty() {
        return Err(PairError::NoCertificate { path: path.to_owned() });
    }
    Ok(certificates)
}

/// In our words: the parser's quote the file, as lists of bytes.
fn malformed(path: &Path, error: &pem::Error) -> PairError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => {
            "a section has no END line, the file may be cut off"
        }
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "a section cannot be read",
    };
    PairError::Pem { path: path.to_owned(), reason }
}

pub(super) fn read(given: &Path, now: &Path) -> Result<Vec<u8>, PairError> {
    fs::read(now).map_err(|source| PairError::Read { path: given.to_owned(), source })
}

/// The directory of a file, as it was given.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

pub(super) fn real(directory: &Path) -> PathBuf {
    fs::canonicalize(directory.join("..data"))
        .or_else(|_| fs::canonicalize(directory))
        .unwrap_or_else(|_| directory.to_owned())
}

pub(super) fn beneath(directory: &Path, file: &Path) -> PathBuf {
    file.file_name().map_or_else(|| file.to_owned(), |name| directory.join(name))
}

/// How many swaps in a row are followed within one look.
const SWAPS: usize = 3;
