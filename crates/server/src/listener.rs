//! Accepting connections: survive what goes wrong, a deadline for the handshake, a limit for their number.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::connection::{self, Protocol};
use super::lifecycle::{Lifecycle, Phase};
use super::log;
use super::metrics::Metrics;
use super::routes::{Peer, Routes};
use super::tls::HTTP2;

/// The webhook listener.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) socket: TcpListener,
    /// Read at each handshake: a reload is seen by the next one.
    pub(super) config: Arc<ArcSwap<ServerConfig>>,
    pub(super) routes: Arc<Routes>,
    pub(super) lifecycle: Lifecycle,
    pub(super) metrics: Arc<Metrics>,
    pub(super) max_connections: usize,
    pub(super) idle_timeout: Duration,
}

impl Listener {
    /// Accepts until the server drains, then waits for the connections there are. Dropping the future cuts them off.
    pub(super) async fn run(self) {
        let places =
            Arc::new(Semaphore::new(self.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.lifecycle.reached(Phase::Draining) => break,
                accepted = self.accept(&places) => accepted,
            };
            self.spawn(accepted, &mut connections);
            while connections.try_join_next().is_some() {}
        }
        // What the kernel has accepted would be reset with the socket: those clients are told to try again instead.
        while let Some(accepted) = tokio::select! {
            biased;
            accepted = self.accept(&places) => Some(accepted),
            () = tokio::task::yield_now() => None,
        } {
            self.spawn(accepted, &mut connections);
        }
        drop(self.socket);
        while connections.join_next().await.is_some() {}
    }

    async fn accept(
        &self,
        places: &Arc<Semaphore>,
    ) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
        // The semaphore is never closed: the loop ends at its first turn.
        let place = loop {
            if let Ok(place) = Arc::clone(places).acquire_owned().await {
                break place;
            }
        };
        let (stream, addr) = accept(&self.socket).await;
        (stream, addr, place)
    }

    fn spawn(
        &self,
        (stream, addr, place): (TcpStream, SocketAddr, OwnedSemaphorePermit),
        connections: &mut JoinSet<()>,
    ) {
        let config = Arc::clone(&self.config);
        let routes = Arc::clone(&self.routes);
        let lifecycle = self.lifecycle.clone();
        let metrics = Arc::clone(&self.metrics);
        let idle_timeout = self.idle_timeout;
        connections.spawn(async move {
            let _open = Open::new(metrics.clone());
            let _place = place;
            let acceptor = TlsAcceptor::from(config.load_full());
            let tls = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(tls)) => tls,
                Ok(Err(error)) => {
                    metrics.connections.handshake_failures.inc();
                    log::handshake(addr, &error);
                    return;
                }
                Err(_) => {
                    metrics.connections.handshake_failures.inc();
                    tracing::debug!(peer = %addr, "handshake took too long");
                    return;
                }
            };
            let session = tls.get_ref().1;
            let peer = Peer { addr, certified: session.peer_certificates().is_some() };
            let protocol = match session.alpn_protocol() {
                Some(HTTP2) => Protocol::Http2,
                _ => Protocol::Http1,
            };
            connection::serve(
                TokioIo::new(tls),
                protocol,
                &lifecycle,
                idle_timeout,
                move |request| {
                    let routes = Arc::clone(&routes);
                    async move { routes.answer(request, peer).await }
                },
            )
            .await;
        });
    }
}

/// Accepts one connection, whatever it takes.
pub(super) async fn accept(socket: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut failing = false;
    loop {
        match socket.accept().await {
            Ok((stream, addr)) => {
                // Answers are one small write each: waiting for more to send only adds latency.
                let _ = stream.set_nodelay(true);
                return (stream, addr);
            }
            // The client gave up in the queue.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
                ) => {}
            // Out of descriptors or memory: the connection stays queued and accept would fail again at once. Existing
            // ones end and give theirs back.
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "failed to accept, trying again until it works");
                }
                failing = true;
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// A connection in the gauge.
struct Open(Arc<Metrics>);

impl Open {
    fn new(metrics: Arc<Metrics>) -> Self {
        metrics.connections.open.inc();
        Self(metrics)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.open.dec();
    }
}

/// Go's own TLS handshake timeout: an API server has given up by then (net/http `DefaultTransport`).
const HANDSHAKE: Duration = Duration::from_secs(10);

const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
