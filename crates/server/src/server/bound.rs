//! Binds, runs and drains a server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::listener::Listener;
use super::options::Options;
use super::reload::Reloader;
use super::serve_error::ServeError;
use super::shutdown::Shutdown;
use crate::admin::endpoints::{ADMIN_CONNECTIONS, Admin, AdminState};
use crate::memory::budget::Budget;
use crate::memory::descriptors::Descriptors;
use crate::request::request_handler::RequestHandler;
use crate::request::routes::{ClientCertificates, RouteLimits, Routes};
use crate::telemetry::last_errors::LastErrors;
use crate::telemetry::line_limits::LineLimits;
use crate::telemetry::log::Log;
use crate::telemetry::log_queue::LogQueue;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::spans::RequestTracer;
use pointsman_transport::connections::{Lifecycle, Phase};

/// An unbound server: see [`Server::bind`].
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Loads the certificate, raises the limit of file descriptors to the number of connections, then binds both
    /// listeners. Connections are accepted after [`BoundServer::run`]; the kernel queues earlier ones.
    ///
    /// # Errors
    /// [`ServeError::Pair`] or [`ServeError::ClientCa`] for an unusable file, [`ServeError::Bind`] for an unusable
    /// address.
    pub async fn bind(options: Options, decide: RequestHandler) -> Result<BoundServer, ServeError> {
        let metrics = Arc::new(
            Metrics::new(options.log_queue.as_ref().map(LogQueue::lost), options.facts.clone())
                .map_err(|source| ServeError::Metrics { source: source.into() })?,
        );
        metrics.decisions.expect(&options.conversions);
        metrics.connections.limit(options.max_connections);
        let reloader = Reloader::load(&options, Arc::clone(&metrics))?;
        let descriptors = Descriptors::raise(options.max_connections, ADMIN_CONNECTIONS);
        let listener = listen(options.listen)?;
        let admin = listen(options.admin_listen)?;
        let tracer = RequestTracer::start(options.collector.clone(), &metrics.spans)
            .map_err(|source| ServeError::Thread { source })?;
        Ok(BoundServer { options, decide, metrics, tracer, reloader, descriptors, listener, admin })
    }
}

/// A server with certificate and sockets.
#[derive(Debug)]
pub struct BoundServer {
    options: Options,
    decide: RequestHandler,
    metrics: Arc<Metrics>,
    tracer: RequestTracer,
    reloader: Reloader,
    descriptors: Descriptors,
    listener: TcpListener,
    admin: TcpListener,
}

impl BoundServer {
    /// The address of the webhooks; the assigned port if the options contain 0.
    ///
    /// # Errors
    /// The error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The address of `/metrics`, `/errors`, `/livez` and `/readyz`, over plain HTTP.
    ///
    /// # Errors
    /// The error of `getsockname`.
    pub fn admin_addr(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown` requests a stop. The first request drains: `/readyz` returns 503 and responses have
    /// `Connection: close` for [`Options::lame_duck`]. Then HTTP/2 gets GOAWAY. New connections are refused after a
    /// second without requests, or after half of [`Options::shutdown_grace`]. Requests in flight are completed within
    /// that grace. The second request aborts.
    ///
    /// # Errors
    /// [`ServeError::Grace`] if requests were aborted, [`ServeError::Aborted`] after a second stop request.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), ServeError> {
        let abort = shutdown.clone();
        tokio::select! {
            biased;
            () = abort.requested(2) => Err(ServeError::Aborted),
            result = self.serve(shutdown) => result,
        }
    }

    async fn serve(self, shutdown: Shutdown) -> Result<(), ServeError> {
        let Self { options, decide, metrics, tracer, reloader, descriptors, listener, admin } = self;
        let lifecycle = Lifecycle::new();
        let limits = Arc::new(LineLimits::new(options.log_queue.clone(), metrics.logs.clone()));
        let last_errors = Arc::new(LastErrors::default());
        let log = Log::new(Arc::clone(&limits), Arc::clone(&last_errors));
        let budget = Budget::new(options.memory_budget, descriptors.webhooks, options.patience, Arc::clone(&metrics));
        let accepting = Listener {
            socket: listener,
            tls: reloader.tls(),
            client_names: options.client_names.clone().into(),
            routes: Arc::new(Routes::new(
                route_limits(&options),
                decide,
                budget.clone(),
                lifecycle.clone(),
                log.clone(),
                Arc::clone(&metrics),
                reloader.tls(),
            )),
            lifecycle: lifecycle.clone(),
            log,
            tracer: tracer.clone(),
            metrics: Arc::clone(&metrics),
            max_connections: descriptors.webhooks,
            idle_timeout: options.idle_timeout,
        };

        // Dropping the sets ends their tasks, in all cases.
        let mut background = JoinSet::new();
        background.spawn(reloader.run());
        if let Some(definitions) = options.definitions.clone() {
            let watching = definitions.watch(options.reload_interval, &metrics);
            watching.map_err(|source| ServeError::Thread { source })?;
        }
        let admin = Admin {
            socket: admin,
            state: AdminState { lifecycle: lifecycle.clone(), metrics, last_errors },
            max_connections: descriptors.admin,
            dev_page: options.dev_page.clone(),
        };
        background.spawn(async move { limits.report().await });
        background.spawn(budget.write_deadline(options.write_timeout));
        background.spawn(admin.run());
        let mut serving = JoinSet::new();
        serving.spawn(accepting.run());
        lifecycle.enter(Phase::Ready);
        tokio::select! {
            biased;
            () = shutdown.requested(1) => drain(&options, &lifecycle, &tracer, serving).await,
            Some(ended) = serving.join_next() => ended.map_err(|source| ServeError::Listener { source: source.into() }),
        }
    }
}

/// The limits of requests by the options.
fn route_limits(options: &Options) -> RouteLimits {
    RouteLimits {
        body: options.body_limits.within(Budget::largest_body(options.memory_budget)),
        client_certificates: match options.client_ca_file {
            Some(_) => ClientCertificates::Demanded,
            None => ClientCertificates::Ignored,
        },
        request_deadline: options.request_deadline,
    }
}

async fn drain(
    options: &Options,
    lifecycle: &Lifecycle,
    tracer: &RequestTracer,
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
    let end = Instant::now() + grace;
    // A load balancer may learn late: requests are still served.
    let half = Instant::now() + grace / 2;
    while !lifecycle.quiet(QUIET) && Instant::now() < half {
        sleep_until((Instant::now() + RECHECK).min(half)).await;
    }
    lifecycle.enter(Phase::Closing);
    let ended = timeout_at(end, serving.join_next()).await;
    // Lost spans are no longer counted: their readers have stopped too.
    let _: Result<(), Elapsed> = timeout_at(end.min(Instant::now() + LAST_SPANS), tracer.flush()).await;
    match ended {
        Ok(Some(Err(source))) => Err(ServeError::Listener { source: source.into() }),
        Ok(_) => Ok(()),
        Err(_) => Err(ServeError::Grace { grace }),
    }
}

fn listen(addr: SocketAddr) -> Result<TcpListener, ServeError> {
    let error = match bind(addr) {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    // A host without IPv6 reports EAFNOSUPPORT or EADDRNOTAVAIL, depending on how IPv6 was disabled.
    let taken = matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied);
    if addr.is_ipv6() && addr.ip().is_unspecified() && !taken {
        let every_ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, addr.port()));
        if let Ok(listener) = bind(every_ipv4) {
            return Ok(listener);
        }
    }
    Err(ServeError::Bind { addr, source: error })
}

fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() }?;
    // As in `TcpListener::bind`: allows the port of a server that has just ended.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(QUEUE)
}

/// Kernel queue of unaccepted connections. The kernel drops further ones, and their clients retry after 1 s, then 3 s.
/// 3,000 silent addresses fill 341 slots and a queue of 2,700. The limit is the default `net.core.somaxconn` of Linux.
const QUEUE: u32 = 4096;

/// Longer than the pauses of callers without current endpoints; short enough for an interactive stop.
const QUIET: Duration = Duration::from_secs(1);

/// A responsive collector accepts spans in milliseconds; another must not delay the end.
const LAST_SPANS: Duration = Duration::from_secs(2);

const RECHECK: Duration = Duration::from_millis(50);
