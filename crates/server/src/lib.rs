//! How requests reach us: sockets, TLS, files, clocks, metrics.
//!
//! [`Server::bind`] loads the certificate *before* it binds a socket, so that a deployment that cannot serve never
//! listens; [`Bound::run`] serves until it is told to stop. What a request means is not decided here: that is
//! [`Decide`], a function from bytes to bytes.
//!
//! Not made for the open internet: the peers we know are kube-apiservers, and every limit is derived from how they
//! behave (client-go and the API server's webhook packages, named beside each constant).

mod admin;
mod body;
mod connection;
mod decide;
pub mod dev;
mod hints;
mod lifecycle;
mod listener;
mod log;
mod metrics;
mod options;
mod pair;
mod refusal;
mod reload;
mod routes;
mod tls;
pub mod units;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinSet};

use self::admin::Admin;
pub use self::body::BodyLimits;
pub use self::decide::Decide;
use self::lifecycle::{Lifecycle, Phase};
pub use self::lifecycle::{Shutdown, Trigger};
use self::listener::Listener;
use self::metrics::Metrics;
pub use self::options::Options;
pub use self::pair::{CertPaths, PairError};
use self::reload::Reloader;
use self::routes::Routes;

/// A server that does not exist yet: see [`Server::bind`].
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Loads the certificate, then binds both listeners. Nothing is accepted before [`Bound::run`]; the kernel queues
    /// what comes earlier.
    ///
    /// # Errors
    /// [`ServeError::Pair`] or [`ServeError::ClientCa`] where a file cannot be used, [`ServeError::Bind`] where an
    /// address cannot.
    pub async fn bind(options: Options, decide: Decide) -> Result<Bound, ServeError> {
        let metrics = Arc::new(Metrics::new().map_err(|source| ServeError::Metrics { source })?);
        let reloader = Reloader::load(&options, Arc::clone(&metrics))?;
        let listener = listen(options.listen).await?;
        let admin = listen(options.admin_listen).await?;
        Ok(Bound { options, decide, metrics, reloader, listener, admin })
    }
}

/// A server that has its certificate and its sockets.
#[derive(Debug)]
pub struct Bound {
    options: Options,
    decide: Decide,
    metrics: Arc<Metrics>,
    reloader: Reloader,
    listener: TcpListener,
    admin: TcpListener,
}

impl Bound {
    /// Where the webhooks are served; the port that was chosen where the options said 0.
    ///
    /// # Errors
    /// Whatever `getsockname` says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where `/metrics`, `/livez` and `/readyz` are served, over plain HTTP.
    ///
    /// # Errors
    /// Whatever `getsockname` says.
    pub fn admin_addr(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown` asks to stop. The first request drains: `/readyz` says 503 and answers carry
    /// `Connection: close` for [`Options::lame_duck`], then nothing more is accepted and what is under way is answered
    /// within [`Options::shutdown_grace`]. The second aborts.
    ///
    /// # Errors
    /// [`ServeError::Grace`] where requests were cut off, [`ServeError::Aborted`] after a second request to stop.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), ServeError> {
        let abort = shutdown.clone();
        tokio::select! {
            biased;
            () = abort.requested(2) => Err(ServeError::Aborted),
            result = self.serve(shutdown) => result,
        }
    }

    async fn serve(self, shutdown: Shutdown) -> Result<(), ServeError> {
        let Self { options, decide, metrics, reloader, listener, admin } = self;
        let lifecycle = Lifecycle::new();
        let accepting = Listener {
            socket: listener,
            config: reloader.config(),
            routes: Arc::new(Routes::new(
                &options,
                decide,
                lifecycle.clone(),
                Arc::clone(&metrics),
            )),
            lifecycle: lifecycle.clone(),
            metrics: Arc::clone(&metrics),
            max_connections: options.max_connections,
            idle_timeout: options.idle_timeout,
        };

        // Dropping the sets ends their tasks, however this function is left.
        let mut background = JoinSet::new();
        background.spawn(reloader.run());
        background.spawn(Admin { socket: admin, lifecycle: lifecycle.clone(), metrics }.run());
        let mut serving = JoinSet::new();
        serving.spawn(accepting.run());
        lifecycle.enter(Phase::Ready);
        tokio::select! {
            biased;
            () = shutdown.requested(1) => drain(&options, &lifecycle, serving).await,
            Some(ended) = serving.join_next() => ended.map_err(|source| ServeError::Listener { source }),
        }
    }
}

async fn drain(
    options: &Options,
    lifecycle: &Lifecycle,
    mut serving: JoinSet<()>,
) -> Result<(), ServeError> {
    let Options { lame_duck, shutdown_grace: grace, .. } = *options;
    if !lame_duck.is_zero() {
        tracing::info!(pause = ?lame_duck, "not ready any more, still serving while endpoints are updated");
        lifecycle.enter(Phase::LameDuck);
        tokio::time::sleep(lame_duck).await;
    }
    tracing::info!(?grace, "draining");
    lifecycle.enter(Phase::Draining);
    match tokio::time::timeout(grace, serving.join_next()).await {
        Ok(Some(Err(source))) => Err(ServeError::Listener { source }),
        Ok(_) => Ok(()),
        Err(_) => Err(ServeError::Grace { grace }),
    }
}

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
        source: PairError,
    },
    /// Requests were still under way when the grace period ended.
    #[error("requests still under way after {grace:?} were cut off")]
    Grace {
        /// [`Options::shutdown_grace`].
        grace: Duration,
    },
    /// The accept loop died.
    #[error("the listener failed")]
    Listener {
        /// Its panic.
        source: JoinError,
    },
    /// The metrics contradict each other, which is a mistake in this program.
    #[error("failed to register the metrics")]
    Metrics {
        /// Which one.
        source: prometheus::Error,
    },
    /// The certificate to serve cannot be used.
    #[error("failed to load the certificate to serve")]
    Pair {
        /// Which file, and why.
        source: PairError,
    },
}

async fn listen(addr: SocketAddr) -> Result<TcpListener, ServeError> {
    let error = match TcpListener::bind(addr).await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    // A host without IPv6 reports EAFNOSUPPORT or EADDRNOTAVAIL, depending on how it was switched off.
    let taken = matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied);
    if addr.is_ipv6() && addr.ip().is_unspecified() && !taken {
        let every_ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, addr.port()));
        if let Ok(listener) = TcpListener::bind(every_ipv4).await {
            return Ok(listener);
        }
    }
    Err(ServeError::Bind { addr, source: error })
}
