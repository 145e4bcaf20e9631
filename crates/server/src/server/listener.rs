//! The webhook listener: handshake timeout, connection limit, and a graceful end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::request::client::{Certified, Peer};
use crate::request::request_head::RequestHead;
use crate::request::routes::Routes;
use crate::runtime::current_tls::CurrentTls;
use crate::telemetry::log::Log;
use crate::telemetry::metrics::{Metrics, WEBHOOKS};
use crate::telemetry::spans::RequestTracer;
use pointsman_transport::certificates::{ends, is_allowed};
use pointsman_transport::connections::{
    AcceptedConnection, ConnectionSlots, EvictionRules, Handler, HandshakeFailure, IdleTimeouts, Lifecycle, Phase,
    Requests, Stream, serve,
};

/// The webhook listener.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    /// Read at each handshake: a reload affects the next one.
    pub(crate) tls: Arc<ArcSwap<CurrentTls>>,
    /// The allowed common names of clients; any if empty.
    pub(crate) client_names: Arc<[String]>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) log: Log,
    pub(crate) tracer: RequestTracer,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) max_connections: usize,
    pub(crate) idle_timeout: Duration,
}

impl Listener {
    /// Accepts until the server closes, then waits for its connections. Dropping the future aborts them.
    pub(crate) async fn run(self) {
        let evicted = self.metrics.connections.evicted(WEBHOOKS);
        let evicted = Box::new(move || evicted.inc());
        let slots = ConnectionSlots::new(self.max_connections, EVICTION, evicted);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.lifecycle.reached(Phase::Closing) => break,
                accepted = slots.accept(&self.socket) => accepted,
            };
            self.spawn(accepted, &mut connections);
            while connections.try_join_next().is_some() {}
        }
        // Connections in the kernel queue would be reset with the socket: they are still served.
        while let Some(accepted) = tokio::select! {
            biased;
            accepted = slots.accept(&self.socket) => Some(accepted),
            () = tokio::task::yield_now() => None,
        } {
            self.spawn(accepted, &mut connections);
        }
        drop(self.socket);
        while connections.join_next().await.is_some() {}
    }

    fn spawn(&self, entered: AcceptedConnection, connections: &mut JoinSet<()>) {
        let AcceptedConnection { stream, addr, slot } = entered;
        let tls = self.tls.load_full();
        let client_names = Arc::clone(&self.client_names);
        let routes = Arc::clone(&self.routes);
        let lifecycle = self.lifecycle.clone();
        let log = self.log.clone();
        let tracer = self.tracer.clone();
        let metrics = Arc::clone(&self.metrics);
        let idle = IdleTimeouts { unproven: self.idle_timeout, kept: self.idle_timeout };
        connections.spawn(async move {
            let _counted = CountedConnection::new(Arc::clone(&metrics));
            let handshake = tokio::select! {
                handshake = handshake(stream, addr, Arc::clone(&tls.config), &log, &metrics) => handshake,
                () = slot.evicted() => None,
            };
            let Some(stream) = handshake else {
                return;
            };
            let certified = stream.client_certificate().map(|leaf| Certified {
                allowed: is_allowed(leaf, &client_names),
                until: Instant::now() + ends(leaf).min(LONGEST),
                authorities: tls.authorities,
            });
            let peer = Peer { addr, certified };
            let handler: Handler = Box::new(move |request, under_way| {
                let routes = Arc::clone(&routes);
                let (head, body) = request.into_parts();
                // Immediately, before its turn: the head is dropped before the next one is read.
                let request_head = RequestHead::of(&head);
                let span = tracer.begin(request_head.endpoint, &head.headers);
                Box::pin(async move { Ok(routes.answer(request_head, body, peer, under_way, span).await) })
            });
            let requests = slot.requests().clone();
            let serving = serve(stream, lifecycle, slot, idle, handler);
            tokio::select! {
                () = serving => {}
                () = ended(certified, &requests) => {}
            }
        });
    }
}

/// Ends a connection when the client certificate expires, after the current response. Never returns.
async fn ended(certified: Option<Certified>, requests: &Requests) {
    if let Some(Certified { until, .. }) = certified {
        sleep_until(until).await;
        requests.end();
        sleep(LAST_ANSWERS).await;
        requests.evict();
    }
    std::future::pending().await
}

/// The TLS stream of a connection, if the handshake succeeds.
async fn handshake(
    stream: TcpStream,
    addr: SocketAddr,
    config: Arc<ServerConfig>,
    log: &Log,
    metrics: &Metrics,
) -> Option<Stream> {
    let failure = match timeout(HANDSHAKE, Stream::handshake(stream, config)).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => {
            log.handshake(addr, &error);
            HandshakeFailure::from(&error)
        }
        Err(_) => {
            tracing::debug!(peer = %addr, "handshake took too long");
            HandshakeFailure::Timeout
        }
    };
    metrics.connections.handshake_failed(failure);
    None
}

/// A connection counted in the gauge.
struct CountedConnection(Arc<Metrics>);

impl CountedConnection {
    fn new(metrics: Arc<Metrics>) -> Self {
        metrics.connections.open.inc();
        Self(metrics)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.connections.open.dec();
    }
}

/// Go's own TLS handshake timeout: an API server has given up by then (net/http `DefaultTransport`).
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Longer than any connection: the clock cannot represent the expiry of a certificate for ten thousand years.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// 200 idle connections are far more than kube-apiservers keep: Go's transport holds at most 25 per host (client-go
/// sets `MaxIdleConnsPerHost`), and behind a konnectivity agent a few API servers share one address. API servers reuse
/// a connection within milliseconds, and a call usually ends within a second.
const EVICTION: EvictionRules =
    EvictionRules { idle_of_a_peer: 200, settled: Duration::from_millis(100), leaving: Duration::from_secs(1) };

/// Time limit for responses after the client certificate has expired.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
