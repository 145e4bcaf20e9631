//! Errors of certificates and authority files.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use super::leaf::RejectionReason;

/// The reason why a certificate or authority file is unusable. The previous one stays in use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A certificate is malformed.
    #[error("certificate {position} in {} is malformed", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Its position, from 1.
        position: usize,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The private key needs a passphrase, which cannot be entered.
    #[error("the private key in {} is encrypted: store the key without a passphrase", path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificates exceed the limit of clients in a handshake.
    #[error("the certificates in {} have more than {limit} bytes together, and clients refuse them", path.display())]
    LongChain {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The files are of different pairs; during a change, the next read finds them consistent.
    #[error("the private key in {} does not belong to the certificate in {}", key.display(), cert.display())]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// The file contains no certificate.
    #[error("no certificate in {}", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A pipe, device or directory: reading it could block forever.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file contains no private key.
    #[error("no private key in {}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The file is incomplete or not PEM.
    #[error("{} is not valid PEM: {reason}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: &'static str,
    },
    /// The file is unreadable.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// rustls refuses it.
    #[error("{} cannot be used", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file is larger than any certificate, and is not read.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// Clients would refuse the certificate.
    #[error("the certificate in {} {reason}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: RejectionReason,
    },
    /// The authorities are unusable for a verifier.
    #[error("{} cannot be used for client certificates", path.display())]
    Verifier {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}
