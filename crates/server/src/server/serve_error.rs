//! Errors of starting or ending a server.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use pointsman_transport::certificates::CertificateError;

/// An error of starting or ending a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A second stop request interrupted the first one.
    #[error("aborted by a second signal: pending requests were aborted")]
    Aborted,
    /// An address is unusable.
    #[error("failed to listen on {addr}")]
    Bind {
        /// The requested address.
        addr: SocketAddr,
        /// The system error.
        source: io::Error,
    },
    /// The authorities of client certificates are unusable.
    #[error("failed to load the client certificate authorities")]
    ClientCa {
        /// The file and the cause.
        source: CertificateError,
    },
    /// Requests were still in flight at the end of the grace period.
    #[error("pending requests after {grace:?} were aborted")]
    Grace {
        /// [`Options::shutdown_grace`](crate::Options::shutdown_grace).
        grace: Duration,
    },
    /// The accept loop panicked.
    #[error("the listener failed")]
    Listener {
        /// The panic.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The metrics conflict, which is a bug in this program.
    #[error("failed to register the metrics")]
    Metrics {
        /// The metric.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The serving threads cannot be started.
    #[error("failed to start the runtime")]
    Runtime {
        /// The system error.
        source: io::Error,
    },
    /// Stop signals cannot be handled.
    #[error("failed to catch signals")]
    Signals {
        /// The system error.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("failed to start a thread")]
    Thread {
        /// The system error.
        source: io::Error,
    },
    /// The serving certificate is unusable.
    #[error("failed to load the certificate to serve")]
    Pair {
        /// The file and the cause.
        source: CertificateError,
    },
}
