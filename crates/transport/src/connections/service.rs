//! Responses on a connection: counted, one per turn, with an end of the connection.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::Service;
use hyper::{Request, Response};

use super::fair_share::FairShare;
use super::requests::{InFlightGuard, Requests};
use super::stream::Protocol;

/// A response in progress, which never fails.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

/// Handles requests. A request is in flight until the second argument is dropped.
pub type Handler = Box<dyn Fn(Request<Incoming>, InFlightGuard) -> AnswerFuture + Send + Sync>;

/// The service for hyper: counts the request, and calls the handler.
pub(super) struct CountingService {
    pub(super) handler: Handler,
    pub(super) protocol: Protocol,
    pub(super) requests: Requests,
    pub(super) turn: FairShare,
}

impl Service<Request<Incoming>> for CountingService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = PendingAnswer;

    fn call(&self, request: Request<Incoming>) -> PendingAnswer {
        let answer = (self.handler)(request, self.requests.begin());
        let (requests, turn) = (self.requests.clone(), self.turn.clone());
        PendingAnswer { answer, begun: false, protocol: self.protocol, requests, turn }
    }
}

/// A response that may be the last one of its connection, which HTTP/1.1 signals only in the response. Closing an idle
/// connection would lose a request on its way.
pub(super) struct PendingAnswer {
    answer: AnswerFuture,
    begun: bool,
    protocol: Protocol,
    requests: Requests,
    turn: FairShare,
}

impl Future for PendingAnswer {
    type Output = Result<Response<Full<Bytes>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.begun && self.protocol == Protocol::Http1 && self.turn.has_answered() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.begun = true;
        let mut answer = ready!(self.answer.as_mut().poll(context));
        self.turn.answered();
        if let Ok(response) = &mut answer
            && self.protocol == Protocol::Http1
            && self.requests.state().leave
        {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(answer)
    }
}
