//! Why a certificate, or a file of authorities, cannot be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use super::leaf::RejectionReason;

/// Why a certificate, or a file of authorities, cannot be used. What was used before goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A certificate is not one.
    #[error("certificate {position} in {} is malformed", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        position: usize,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The private key needs a passphrase, which nobody could enter.
    #[error("the private key in {} is encrypted: store it without a passphrase", path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificates are more than clients take in a handshake.
    #[error("the certificates in {} have more than {limit} bytes together, clients refuse them", path.display())]
    LongChain {
        /// The file.
        path: PathBuf,
        /// The most that is served.
        limit: usize,
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
    /// It is a pipe, a device or a directory: reading it could take for ever.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
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
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file is larger than any certificate, and not read.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// No client would take the certificate.
    #[error("the certificate in {} {reason}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: RejectionReason,
    },
    /// No verifier can be made of the authorities.
    #[error("{} cannot be used for client certificates", path.display())]
    Verifier {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
}
