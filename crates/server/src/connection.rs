//! One connection: HTTP on a stream, closed when it has been idle for too long and let go when the server drains.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::sync::watch;
use tokio::time::sleep;

use super::lifecycle::{Lifecycle, Phase};
use super::places::Place;
use super::requests::{Requests, UnderWay};

/// How long a connection may stay without a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleTimeouts {
    /// One that has not sent a whole request yet.
    pub(super) unproven: Duration,
    /// One that has.
    pub(super) kept: Duration,
}

/// Which HTTP a connection speaks. Known from ALPN, never guessed from the first bytes: a client that sends none would
/// be waited for without bound (hyper-util's `auto` does).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

impl Protocol {
    /// When a connection is told to end. HTTP/2 says GOAWAY, which loses no stream. HTTP/1.1 has no such word between two
    /// answers (each says `Connection: close` by then): closing a connection that a client is about to use loses its
    /// request, so that one is kept until nobody asks any more.
    fn leaves_at(self) -> Phase {
        match self {
            Self::Http1 => Phase::Closing,
            Self::Http2 => Phase::Draining,
        }
    }
}

/// Serves one connection to its end.
pub(super) async fn serve<I, S, F>(
    io: I,
    protocol: Protocol,
    lifecycle: &Lifecycle,
    place: &Place,
    idle: IdleTimeouts,
    answer: S,
) where
    I: Read + Write + Unpin + Send + 'static,
    S: Fn(Request<Incoming>, UnderWay) -> F,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let seen = place.requests.subscribe();
    let service = service_fn(|request| {
        let answer = answer(request, Requests::begin(&place.requests));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let leave = lifecycle.reached(protocol.leaves_at());
    let result = match protocol {
        Protocol::Http1 => {
            let mut http = http1::Builder::new();
            // hyper's own timeout for heads would do as an idle timeout, but only here; `drive` serves both protocols.
            http.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER);
            drive(http.serve_connection(io, service), seen, leave, idle).await
        }
        Protocol::Http2 => {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(HEADERS)
                .keep_alive_interval(PING_EVERY)
                .keep_alive_timeout(PING_TIMEOUT);
            drive(http.serve_connection(io, service), seen, leave, idle).await
        }
    };
    if let Err(error) = result {
        // A client that went away, mostly. Its request, if it had one, is counted elsewhere.
        tracing::debug!(error = %error, "connection ended");
    }
}

/// Drives a connection until it ends, has been idle for too long, has to make room, or is done draining.
///
/// Idle is the time without a request under way. It covers a connection between two requests, one that has never sent
/// anything (Go's transport may open one and then use another, and keeps it for later like any other), a head that
/// drips in byte by byte, and an answer that the client does not fetch.
async fn drive<C>(
    connection: C,
    mut requests: watch::Receiver<Requests>,
    leave: impl Future<Output = ()>,
    idle: IdleTimeouts,
) -> Result<(), C::Error>
where
    C: GracefulConnection,
{
    let mut connection = pin!(connection);
    let mut leave = pin!(leave);
    let mut leaving = false;
    let mut told = false;
    loop {
        let Requests { under_way, any, proven, leave: asked, evicted, .. } = *requests.borrow_and_update();
        if evicted {
            return Ok(());
        }
        // Told to end, hyper closes a connection that has had no request yet, although one may be on its way: an
        // API server connects in order to send. It is given a moment, and an answer.
        if (leaving || asked) && any && !told {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        let limit = match proven {
            _ if leaving && !any => NEWCOMER,
            true => idle.kept,
            false => idle.unproven,
        };
        tokio::select! {
            biased;
            result = connection.as_mut() => return result,
            () = &mut leave, if !leaving => leaving = true,
            // The sender is part of the place.
            _ = requests.changed() => {}
            () = sleep(limit), if under_way == 0 => return Ok(()),
        }
    }
}

/// 64 KiB: how much of a connection hyper reads ahead, and the longest head. With its default of 400 KiB, large bodies
/// made small requests wait six times longer (measured: 45 ms against 7 ms at the 99th percentile).
const BUFFER: usize = 64 * 1024;

/// The same 64 KiB for HTTP/2, which counts 32 bytes more for each field (RFC 9113, 6.5.2).
const HEADERS: u32 = 64 * 1024;

/// As many streams as Go's own HTTP/2 server allows: a loopback client has one connection for all its calls.
const STREAMS: u32 = 250;

/// Finds peers that are gone without a word. Answers to pings do not make a connection busy.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the first request of a connection is waited for while draining: it may be on its way.
const NEWCOMER: Duration = Duration::from_secs(1);
