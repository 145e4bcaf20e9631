//! Handles requests: head, body, decision and response.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::body::{self, BodyError};
use super::client::Peer;
use super::request_handler::{HandlerError, RequestHandler};
use super::request_head::RequestHead;
use crate::memory::body_limits::BodyLimits;
use crate::memory::budget::{Budget, MemoryReservation};
use crate::refusal::Refusal;
use crate::runtime::current_tls::CurrentTls;
use crate::telemetry::labels::webhook_name;
use crate::telemetry::log::Log;
use crate::telemetry::metrics::{GivenUp, InFlight, Metrics};
use crate::telemetry::spans::RequestSpan;
use pointsman_core::webhook::{Endpoint, Reply};
use pointsman_transport::connections::{InFlightGuard, Lifecycle, Phase};

/// Shared state of all requests.
#[derive(Debug)]
pub(crate) struct Routes {
    decide: RequestHandler,
    limits: BodyLimits,
    budget: Budget,
    lifecycle: Lifecycle,
    log: Log,
    metrics: Arc<Metrics>,
    tls: Arc<ArcSwap<CurrentTls>>,
    client_certificates: ClientCertificates,
    request_deadline: Duration,
}

/// The limits of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteLimits {
    pub(crate) body: BodyLimits,
    pub(crate) client_certificates: ClientCertificates,
    pub(crate) request_deadline: Duration,
}

/// The use of client certificates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ClientCertificates {
    /// Required for `/mutate` and `/validate`.
    Demanded,
    /// Unused.
    Ignored,
}

impl Routes {
    pub(crate) fn new(
        limits: RouteLimits,
        decide: RequestHandler,
        budget: Budget,
        lifecycle: Lifecycle,
        log: Log,
        metrics: Arc<Metrics>,
        tls: Arc<ArcSwap<CurrentTls>>,
    ) -> Self {
        Self {
            decide,
            limits: limits.body,
            budget,
            lifecycle,
            log,
            metrics,
            tls,
            client_certificates: limits.client_certificates,
            request_deadline: limits.request_deadline,
        }
    }

    /// Handles one request of any kind.
    pub(crate) async fn answer(
        &self,
        head: RequestHead,
        mut body: Incoming,
        peer: Peer,
        under_way: InFlightGuard,
        span: RequestSpan,
    ) -> Response<Full<Bytes>> {
        self.lifecycle.record_request();
        let claim = Arc::new(self.budget.claim(under_way.requests()));
        let metrics = self.metrics.requests.of(head.endpoint);
        let in_flight = Some(metrics.in_flight());
        let mut call = Call { peer, started: Instant::now(), under_way, claim, in_flight, span };
        let webhook = webhook_name(head.endpoint);

        let mut response = match self.review(&head, &mut body, &mut call).await {
            Ok(reply) => {
                self.metrics.decisions.decided(webhook, &reply);
                self.log.reply(webhook, peer.addr, &reply, call.started.elapsed());
                call.span.replied(&reply);
                json(reply.body)
            }
            Err(refusal) => {
                match &refusal {
                    Refusal::Panic { .. } => metrics.panicked(),
                    Refusal::Expired => metrics.given_up(GivenUp::Deadline),
                    _ => {}
                }
                self.log.refusal(webhook, peer.addr, &refusal, call.started.elapsed());
                call.span.refused(&refusal);
                // An abandoned decision keeps its memory. A refusal is a line, and needs none.
                call.claim = Arc::new(self.budget.claim(call.under_way.requests()));
                if refusal.closes() {
                    call.under_way.requests().leave();
                }
                if !refusal.gives_up_on_body() && head.is_sent {
                    body::discard(&mut body).await;
                }
                refusal.response()
            }
        };
        // HTTP/2 has no such header: draining sends GOAWAY there, which loses no stream.
        if self.lifecycle.phase() >= Phase::LameDuck && head.by_http1 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let seconds = call.started.elapsed().as_secs_f64();
        metrics.answered(response.status().as_u16(), seconds);
        call.span.answered(response.status().as_u16());
        drop(call.in_flight);
        call.under_way.answered();
        AnswerBody::begin(response, call.claim)
    }

    async fn review(&self, head: &RequestHead, body: &mut Incoming, call: &mut Call) -> Result<Reply, Refusal> {
        let Call { peer, started, under_way, claim, in_flight, span } = call;
        let endpoint = head.endpoint.ok_or(Refusal::NoSuchPath)?;
        if !head.is_post {
            return Err(Refusal::Method);
        }
        if self.lifecycle.phase() == Phase::Starting {
            return Err(Refusal::Starting);
        }
        if endpoint != Endpoint::Convert {
            self.authorize(*peer)?;
        }
        if !head.is_json {
            return Err(Refusal::MediaType);
        }
        let allowed = head.timeout.map_or(self.request_deadline, |timeout| timeout.min(self.request_deadline));
        let deadline = *started + allowed;
        let limit = self.limits.of(endpoint);
        let refused = |error: BodyError| match error {
            BodyError::Budget => Refusal::Overload,
            BodyError::TooHeavy { needed } => Refusal::TooHeavy { needed },
            BodyError::TooLarge => Refusal::TooLarge { limit },
            BodyError::Panicked { message } => Refusal::Panic { message },
            BodyError::Stopped => Refusal::Draining,
            BodyError::Broken(error) => {
                tracing::debug!(peer = %peer.addr, %error, "request body broke off");
                Refusal::BrokenBody
            }
        };
        let read = timeout_at(deadline, body::read(body, limit, claim)).await;
        let bytes = read.map_err(|_| Refusal::SlowBody)?.map_err(&refused)?;
        let decide = self.decide.clone();
        let weigh = move |body: &[u8]| decide.weigh(endpoint, body);
        let weighed = timeout_at(deadline, body::weigh(bytes, claim, weigh)).await;
        let body = weighed.map_err(|_| Refusal::Expired)?.map_err(refused)?;
        under_way.arrived();
        let arrived = Instant::now();
        let left = Left { routes: self, webhook: endpoint, peer: peer.addr, started: *started };
        let decided = self.decide.decide(endpoint, body, (claim, in_flight), deadline).await;
        left.stayed();
        let took = arrived.elapsed();
        let seconds = took.as_secs_f64();
        span.decided(arrived.duration_since(*started), took);
        self.metrics.requests.of(Some(endpoint)).decided(seconds);
        if let Ok(reply) = &decided {
            self.metrics.decisions.took(reply, seconds);
        }
        decided.map_err(|undecided| match undecided {
            HandlerError::Bad(bad) => Refusal::BadReview(bad),
            HandlerError::Expired => Refusal::Expired,
            HandlerError::Panicked { message } => Refusal::Panic { message },
            HandlerError::Stopped => Refusal::Draining,
            HandlerError::Unknown { reason } => Refusal::Unknown { reason },
        })
    }

    /// Checks that a caller is allowed to use admission.
    fn authorize(&self, peer: Peer) -> Result<(), Refusal> {
        if self.client_certificates == ClientCertificates::Ignored {
            return Ok(());
        }
        let certified = peer.certified.ok_or(Refusal::Unauthorized)?;
        if Instant::now() >= certified.until {
            return Err(Refusal::CertificateExpired);
        }
        if certified.authorities != self.tls.load().authorities {
            return Err(Refusal::OldAuthorities);
        }
        if certified.allowed { Ok(()) } else { Err(Refusal::Forbidden) }
    }
}

/// The response with a review.
fn json(body: Vec<u8>) -> Response<Vec<u8>> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A request without its body.
#[derive(Debug)]
struct Call {
    peer: Peer,
    started: Instant,
    under_way: InFlightGuard,
    claim: Arc<MemoryReservation>,
    /// `None` while a decision holds it, on any thread.
    in_flight: Option<InFlight>,
    span: RequestSpan,
}

/// Records that a caller has left, if dropped before the decision.
struct Left<'r> {
    routes: &'r Routes,
    webhook: Endpoint,
    peer: SocketAddr,
    started: Instant,
}

impl Left<'_> {
    /// Records that the caller stayed.
    fn stayed(self) {
        std::mem::forget(self);
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        let Self { routes, webhook, peer, started } = self;
        routes.metrics.requests.of(Some(*webhook)).given_up(GivenUp::ClientDisconnected);
        routes.log.left(webhook_name(Some(*webhook)), *peer, started.elapsed());
    }
}

/// Bytes that count in the budget until they are written: an unread response takes memory too.
struct AnswerBody {
    body: Vec<u8>,
    _claim: Arc<MemoryReservation>,
}

impl AnswerBody {
    /// The response, or a refusal if it is larger than the memory of the decision and the budget is exhausted.
    fn begin(response: Response<Vec<u8>>, claim: Arc<MemoryReservation>) -> Response<Full<Bytes>> {
        let response = match claim.write(response.body().capacity() as u64) {
            true => response,
            false => Refusal::Overload.response(),
        };
        response.map(|body| Full::new(Bytes::from_owner(Self { body, _claim: claim })))
    }
}

impl AsRef<[u8]> for AnswerBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
