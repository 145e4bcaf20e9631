//! A certificate and its key from files: read consistently, and checked.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::error::CertificateError;
use super::leaf::Leaf;
use super::pem::{certificates, malformed, read};
use super::volume::{beneath, directory, real};

/// Paths of the serving certificate and its key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertPaths {
    /// PEM: the leaf first, then its chain to the authority.
    pub cert: PathBuf,
    /// PEM: PKCS#8, PKCS#1 or SEC 1.
    pub key: PathBuf,
}

impl CertPaths {
    /// The resolved files at this moment.
    ///
    /// A kubelet swaps a mounted volume by renaming one link, `..data` (Kubernetes pkg/volume/util/atomic_writer.go).
    /// Resolving that link once for both files prevents a mix of an old certificate and a new key. Without it, the
    /// directory itself may be such a link.
    fn resolve(&self) -> Self {
        let cert_dir = directory(&self.cert);
        let cert_real = real(cert_dir);
        let key_dir = directory(&self.key);
        let key_real = if key_dir == cert_dir { cert_real.clone() } else { real(key_dir) };
        Self { cert: beneath(&cert_real, &self.cert), key: beneath(&key_real, &self.key) }
    }
}

/// A usable certificate with its properties.
#[derive(Clone, Debug)]
pub struct ServingKeyPair {
    pub(super) key: Arc<CertifiedKey>,
    /// SHA-256 of the leaf, in hex.
    pub fingerprint: String,
    /// The properties of the leaf.
    pub leaf: Leaf,
    /// The fingerprint of each certificate in the chain, and its expiry in seconds since the epoch.
    pub chain: Vec<(String, u64)>,
}

impl PartialEq for ServingKeyPair {
    /// Compares the whole chain, since an intermediate may be renewed alone. The key was checked against the leaf, so
    /// another key implies another leaf.
    fn eq(&self, other: &Self) -> bool {
        self.key.cert == other.key.cert
    }
}

/// Reads a pair and checks that it can be used.
///
/// # Errors
/// [`CertificateError`], with the given path.
pub(super) fn load_pair(paths: &CertPaths) -> Result<ServingKeyPair, CertificateError> {
    let mut now = paths.resolve();
    for _ in 0..SWAPS {
        let error = match read_pair(paths, &now) {
            Ok(pair) => return Ok(pair),
            Err(error) => error,
        };
        // A swap may have removed the files: then newer ones exist.
        let before = std::mem::replace(&mut now, paths.resolve());
        if now == before {
            return Err(error);
        }
    }
    read_pair(paths, &now)
}

fn read_pair(paths: &CertPaths, now: &CertPaths) -> Result<ServingKeyPair, CertificateError> {
    let chain = certificates(&paths.cert, &read(&paths.cert, &now.cert)?)?;
    if chain.iter().map(|der| der.len()).sum::<usize>() > LONGEST_CHAIN {
        return Err(CertificateError::LongChain { path: paths.cert.clone(), limit: LONGEST_CHAIN });
    }
    let text = read(&paths.key, &now.key)?;
    let key = match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => key,
        Err(_) if is_encrypted(&text) => {
            return Err(CertificateError::EncryptedKey { path: paths.key.clone() });
        }
        Err(pem::Error::NoItemsFound) => {
            return Err(CertificateError::NoKey { path: paths.key.clone() });
        }
        Err(error) => return Err(malformed(&paths.key, &error)),
    };
    let malformed_at = |position, source: x509_cert::der::Error| CertificateError::Certificate {
        path: paths.cert.clone(),
        position,
        source: source.into(),
    };
    // All of them: only clients would notice an incomplete chain.
    let mut parsed = Vec::with_capacity(chain.len());
    for (index, certificate) in chain.iter().enumerate() {
        let certificate = Certificate::from_der(certificate);
        parsed.push(certificate.map_err(|source| malformed_at(index + 1, source))?);
    }
    let (Some(leaf), Some(leaf_der)) = (parsed.first(), chain.first()) else {
        return Err(CertificateError::NoCertificate { path: paths.cert.clone() });
    };
    let leaf = Leaf::read(leaf).map_err(|source| malformed_at(1, source))?;
    let ends = parsed.iter().map(|parsed| parsed.tbs_certificate().validity().not_after.to_unix_duration().as_secs());
    let fingerprints = chain.iter().map(|der| fingerprint(der)).zip(ends).collect();
    let fingerprint = fingerprint(leaf_der);
    let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|source| match source {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            CertificateError::Mismatch { cert: paths.cert.clone(), key: paths.key.clone() }
        }
        source => CertificateError::Refused { path: paths.cert.clone(), source: source.into() },
    })?;
    Ok(ServingKeyPair { key: Arc::new(key), fingerprint, leaf, chain: fingerprints })
}

/// SHA-256, in hex.
fn fingerprint(der: &[u8]) -> String {
    Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// PKCS#8 with a passphrase, and OpenSSL's older format (RFC 7468, 11; RFC 1421, 4.6.1.1).
fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// Maximum bytes of the certificate chain. OpenSSL's clients accept 100 KiB of certificates in a handshake. Go's
/// clients long accepted 64 KiB per message, including its other content (crypto/tls/conn.go, `maxHandshake`).
const LONGEST_CHAIN: usize = 60 << 10;

/// Maximum number of swaps followed in one read.
const SWAPS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of "abc" in FIPS 180-4's examples, same as in `openssl x509 -fingerprint -sha256`.
    #[test]
    fn fingerprints_are_those_that_others_print() {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fingerprint(b"abc"), digest);
    }
}
