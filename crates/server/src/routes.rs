//! From a request to an answer: method, path, headers, body, decision.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::body::{self, Budget, Unread};
use super::body_limits::BodyLimits;
use super::decide::{Decide, Undecided};
use super::labels::webhook_name;
use super::lifecycle::{Lifecycle, Phase};
use super::log;
use super::metrics::Metrics;
use super::options::Options;
use super::quantity::parse_duration;
use super::refusal::Refusal;
use super::requests::UnderWay;
use pointsman_core::webhook::{Endpoint, Reply};

/// What all requests share.
#[derive(Debug)]
pub(super) struct Routes {
    decide: Decide,
    limits: BodyLimits,
    budget: Budget,
    lifecycle: Lifecycle,
    metrics: Arc<Metrics>,
    client_certificates: ClientCertificates,
    request_deadline: Duration,
}

/// What client certificates are for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClientCertificates {
    /// `/mutate` and `/validate` are for their holders only.
    Demanded,
    /// Nothing.
    Ignored,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) addr: SocketAddr,
    /// Whether it showed a certificate, which the handshake then verified.
    pub(super) certified: bool,
}

impl Routes {
    pub(super) fn new(
        options: &Options,
        decide: Decide,
        lifecycle: Lifecycle,
        metrics: Arc<Metrics>,
    ) -> Self {
        let limits = options.body_limits;
        Self {
            decide,
            limits,
            budget: Budget::new(options.body_budget.max(limits.largest())),
            lifecycle,
            metrics,
            client_certificates: match options.client_ca_file {
                Some(_) => ClientCertificates::Demanded,
                None => ClientCertificates::Ignored,
            },
            request_deadline: options.request_deadline,
        }
    }

    /// Answers one request, whatever it is.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
        mut under_way: UnderWay,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        let (head, mut body) = request.into_parts();
        let endpoint = endpoint(head.uri.path());
        let webhook = webhook_name(endpoint);
        let in_flight = self.metrics.requests.in_flight(webhook);

        let mut close = false;
        let mut response =
            match self.review(endpoint, &head, &mut body, peer, &mut under_way, started).await {
                Ok((reply, share)) => {
                    self.metrics.decisions.decided(webhook, &reply);
                    log::reply(webhook, peer.addr, &reply, started.elapsed());
                    json(reply.body, share)
                }
                Err(refusal) => {
                    if matches!(refusal, Refusal::Panic { .. }) {
                        self.metrics.requests.panicked(webhook);
                    }
                    log::refusal(webhook, peer.addr, &refusal, started.elapsed());
                    close = refusal.gives_up_on_body();
                    // A client that expects a 100 first has not begun to send.
                    if !close && !head.headers.contains_key(EXPECT) {
                        body::discard(&mut body).await;
                    }
                    refusal.response()
                }
            };
        // HTTP/2 has no such header: there, draining says GOAWAY, which loses no stream.
        if (close || self.lifecycle.phase() >= Phase::LameDuck) && head.version <= Version::HTTP_11
        {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.metrics.requests.answered(
            webhook,
            response.status().as_u16(),
            started.elapsed().as_secs_f64(),
        );
        drop(in_flight);
        response
    }

    async fn review(
        &self,
        endpoint: Option<Endpoint>,
        head: &Parts,
        body: &mut Incoming,
        peer: Peer,
        under_way: &mut UnderWay,
        started: Instant,
    ) -> Result<(Reply, OwnedSemaphorePermit), Refusal> {
        let endpoint = endpoint.ok_or(Refusal::NoSuchPath)?;
        if head.method != Method::POST {
            return Err(Refusal::Method);
        }
        match self.lifecycle.phase() {
            Phase::Starting => return Err(Refusal::Starting),
            Phase::Ready | Phase::LameDuck => {}
            Phase::Draining => return Err(Refusal::Draining),
        }
        let anonymous = self.client_certificates == ClientCertificates::Demanded && !peer.certified;
        if anonymous && endpoint != Endpoint::Convert {
            return Err(Refusal::Unauthorized);
        }
        if !is_json(&head.headers) {
            return Err(Refusal::MediaType);
        }

        let deadline = started + self.allowed(head.uri.query());
        let limit = self.limits.of(endpoint);
        let held = match timeout_at(deadline, body::read(body, limit, &self.budget)).await {
            Ok(Ok(held)) => held,
            Ok(Err(Unread::Budget)) => return Err(Refusal::Overload),
            Ok(Err(Unread::TooLarge)) => return Err(Refusal::TooLarge { limit }),
            Ok(Err(Unread::Broken(error))) => {
                tracing::debug!(peer = %peer.addr, %error, "request body broke off");
                return Err(Refusal::BrokenBody);
            }
            Err(_) => return Err(Refusal::SlowBody),
        };
        under_way.arrived();
        self.decide.decide(endpoint, held, deadline).await.map_err(|undecided| match undecided {
            Undecided::Bad(bad) => Refusal::BadReview(bad),
            Undecided::Expired => Refusal::Expired,
            Undecided::Panicked { message } => Refusal::Panic { message },
            Undecided::Stopped => Refusal::Draining,
        })
    }

    /// How long a request may take: an API server says how long it will wait, in Go's spelling (`?timeout=30s`). What
    /// cannot be parsed is no reason to refuse anything.
    fn allowed(&self, query: Option<&str>) -> Duration {
        let asked = query
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.strip_prefix("timeout="))
            .find_map(|value| parse_duration(value).ok());
        match asked {
            Some(asked) if !asked.is_zero() => asked.min(self.request_deadline),
            _ => self.request_deadline,
        }
    }
}

/// Paths are matched whole: a redirect or a guess would turn a wrong configuration into a riddle.
fn endpoint(path: &str) -> Option<Endpoint> {
    match path {
        "/convert" => Some(Endpoint::Convert),
        "/mutate" => Some(Endpoint::Mutate),
        "/validate" => Some(Endpoint::Validate),
        _ => None,
    }
}

/// API servers send exactly `application/json` and never an encoding.
fn is_json(headers: &HeaderMap) -> bool {
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    let content_type =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    plain && essence.eq_ignore_ascii_case("application/json")
}

/// A review. Its share of the budget is held until its bytes are sent: an answer that nobody fetches is memory, too.
fn json(body: Vec<u8>, share: OwnedSemaphorePermit) -> Response<Full<Bytes>> {
    let body = Bytes::from_owner(Answer { body, _share: share });
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Bytes that are paid for as long as they are there.
struct Answer {
    body: Vec<u8>,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
