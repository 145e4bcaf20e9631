//! The port for probes, metrics and last errors: plain HTTP, until the very end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::dev_page::DevPage;
use crate::telemetry::last_errors::LastErrors;
use crate::telemetry::metrics::{ADMIN, Metrics};
use pointsman_transport::connections::{
    AcceptedConnection, ConnectionSlots, EvictionRules, Handler, IdleTimeouts, Lifecycle, Phase, Stream, serve,
};

/// The admin listener. `/errors` contains names of objects, but no other data of objects.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) socket: TcpListener,
    pub(crate) state: AdminState,
    pub(crate) max_connections: usize,
    /// The dev page, if enabled.
    pub(crate) dev_page: Option<DevPage>,
}

/// The reported state.
#[derive(Clone, Debug)]
pub(crate) struct AdminState {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) last_errors: Arc<LastErrors>,
}

impl Admin {
    /// Serves until dropped: a draining server still reports its state.
    pub(crate) async fn run(self) {
        let evicted = self.state.metrics.connections.evicted(ADMIN);
        let slots = ConnectionSlots::new(self.max_connections, EVICTION, Box::new(move || evicted.inc()));
        let mut connections = JoinSet::new();
        // The lifecycle of this listener: it does not drain.
        let undying = Lifecycle::new();
        loop {
            let AcceptedConnection { stream, slot, .. } = slots.accept(&self.socket).await;
            let (state, dev_page) = (self.state.clone(), self.dev_page.clone());
            let last_answer = Arc::new(LastAnswer::default());
            let handler: Handler = Box::new(move |request, mut under_way| {
                under_way.arrived();
                let page = dev_page.clone().filter(|_| DevPage::has(request.uri().path()));
                let (state, last_answer) = (state.clone(), Arc::clone(&last_answer));
                Box::pin(async move {
                    let response = match page {
                        Some(page) => page.answer(request).await,
                        None => last_answer.paced(|| state.answer(&request)),
                    };
                    drop(under_way);
                    Ok(response)
                })
            });
            connections.spawn(serve(Stream::plain(stream), undying.clone(), slot, IDLE, handler));
            while connections.try_join_next().is_some() {}
        }
    }
}

impl AdminState {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(path, "/errors" | "/livez" | "/metrics" | "/readyz") {
            return text(StatusCode::NOT_FOUND, "no such path: use /errors, /livez, /metrics or /readyz\n".to_owned());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed: use GET\n".to_owned());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/errors" => typed("application/json", self.last_errors.text()),
            "/livez" => text(StatusCode::OK, "ok\n".to_owned()),
            "/readyz" => readyz(self.lifecycle.phase(), request.uri().query().unwrap_or_default()),
            _ => match self.metrics.text() {
                Ok(metrics) => typed(prometheus::TEXT_FORMAT, metrics),
                Err(error) => {
                    text(StatusCode::INTERNAL_SERVER_ERROR, format!("failed to encode the metrics: {error}\n"))
                }
            },
        }
    }
}

/// The time of the last response on a connection. Two hundred requests fit into one packet, and a probe must not wait
/// for all of these responses: a connection ends after a request within 10 ms of the previous one.
#[derive(Debug, Default)]
struct LastAnswer(Mutex<Option<Instant>>);

impl LastAnswer {
    /// Sends a response, and ends the connection if the request was too early.
    fn paced(&self, write: impl FnOnce() -> Response<Full<Bytes>>) -> Response<Full<Bytes>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hurries = last.is_some_and(|last| last.elapsed() < SOON);
        let mut response = write();
        if hurries {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        *last = Some(Instant::now());
        response
    }
}

/// Twenty times the time to write the responses. Scrapers have longer intervals.
const SOON: Duration = Duration::from_millis(10);

/// In the format of Kubernetes' health endpoints.
fn readyz(phase: Phase, query: &str) -> Response<Full<Bytes>> {
    let checks = [("started", phase > Phase::Starting), ("shutdown", phase < Phase::LameDuck)];
    let ready = checks.iter().all(|(_, passed)| *passed);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let verbose = query.split('&').any(|pair| pair == "verbose" || pair.starts_with("verbose="));
    if ready && !verbose {
        return text(status, "ok\n".to_owned());
    }
    let mut report = String::new();
    for (name, passed) in checks {
        report.push_str(if passed { "[+]" } else { "[-]" });
        report.push_str(name);
        report.push_str(if passed { " ok\n" } else { " failed\n" });
    }
    report.push_str(if ready { "readyz check passed\n" } else { "readyz check failed\n" });
    text(status, report)
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = typed("text/plain; charset=utf-8", body);
    *response.status_mut() = status;
    response
}

fn typed(media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A kubelet and a few scrapers. Probes have priority over other clients: all idle connections can be evicted.
pub(crate) const ADMIN_CONNECTIONS: usize = 64;

/// A kubelet waits a second for a probe response by default; a real client sends its request within ten seconds. Kept
/// connections outlast the usual scrape interval, so that a scraper keeps its connection. Probes open a connection per
/// call, and read the response at once. So any other connection makes room at once.
const EVICTION: EvictionRules =
    EvictionRules { idle_of_a_peer: 0, settled: Duration::ZERO, leaving: Duration::from_millis(200) };

const IDLE: IdleTimeouts = IdleTimeouts { unproven: Duration::from_secs(10), kept: Duration::from_secs(90) };
