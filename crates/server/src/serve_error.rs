//! Why a server did not start, or did not end well.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use pointsman_transport::certificates::CertificateError;

/// Why a server did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A second request to stop came before the first was carried out.
    #[error("aborted by a second signal: requests under way were cut off")]
    Aborted,
    /// An address cannot be listened on.
    #[error("failed to listen on {addr}")]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The authorities of client certificates cannot be used.
    #[error("failed to load the client certificate authorities")]
    ClientCa {
        /// Which file, and why.
        source: CertificateError,
    },
    /// Requests were still under way when the grace period ended.
    #[error("requests still under way after {grace:?} were cut off")]
    Grace {
        /// [`Options::shutdown_grace`](super::Options::shutdown_grace).
        grace: Duration,
    },
    /// The accept loop died.
    #[error("the listener failed")]
    Listener {
        /// Its panic.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The metrics contradict each other, which is a mistake in this program.
    #[error("failed to register the metrics")]
    Metrics {
        /// Which one.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The threads that serve cannot be started.
    #[error("failed to start the runtime")]
    Runtime {
        /// What the system said.
        source: io::Error,
    },
    /// The signals that end a process cannot be caught.
    #[error("failed to catch signals")]
    Signals {
        /// What the system said.
        source: io::Error,
    },
    /// The thread that reads the certificates cannot be started.
    #[error("failed to start a thread")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
    /// The certificate to serve cannot be used.
    #[error("failed to load the certificate to serve")]
    Pair {
        /// Which file, and why.
        source: CertificateError,
    },
}
