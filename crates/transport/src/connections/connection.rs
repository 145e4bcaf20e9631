//! One connection: HTTP on a stream, closed after an idle timeout, and ended when the server drains.

use std::pin::{Pin, pin};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::connection_slots::ConnectionSlot;
use super::fair_share::{FairShare, FairStream};
use super::lifecycle::Lifecycle;
use super::requests::ConnectionState;
use super::service::{CountingService, Handler};
use super::stream::{Io, Protocol, Stream};

/// Timeouts of a connection without a request.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimeouts {
    /// Before its first complete request.
    pub unproven: Duration,
    /// After its first complete request.
    pub kept: Duration,
}

/// Serves one connection until it ends, which frees its slot. Dropping the future aborts it.
#[must_use]
pub fn serve(
    stream: Stream,
    lifecycle: Lifecycle,
    slot: ConnectionSlot,
    idle: IdleTimeouts,
    handler: Handler,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let protocol = stream.protocol();
    match stream.0 {
        Io::Plain(socket) => Box::pin(speak(socket, protocol, lifecycle, slot, idle, handler)),
        Io::Tls(tls) => Box::pin(speak(*tls, protocol, lifecycle, slot, idle, handler)),
    }
}

async fn speak<I>(
    io: I,
    protocol: Protocol,
    lifecycle: Lifecycle,
    slot: ConnectionSlot,
    idle: IdleTimeouts,
    handler: Handler,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Freed at the end in any case.
    let ConnectionSlot { requests, .. } = &slot;
    let seen = requests.subscribe();
    let turn = FairShare::default();
    let service = CountingService { handler, protocol, requests: requests.clone(), turn: turn.clone() };
    let leave = lifecycle.reached(protocol.leaves_at());
    let io = TokioIo::new(FairStream { io, turn: turn.clone(), one_read: protocol == Protocol::Http2 });
    let result = match protocol {
        Protocol::Http1 => {
            let mut http = http1::Builder::new();
            // hyper's header timeout could serve as idle timeout, but only here; `drive` serves both protocols.
            http.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER);
            drive(http.serve_connection(io, service), protocol, turn, seen, leave, idle).await
        }
        Protocol::Http2 => {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_local_error_reset_streams(Some(REFUSED_FRAMES))
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(WINDOW)
                .max_header_list_size(HEADERS)
                .keep_alive_interval(PING_EVERY)
                .keep_alive_timeout(PING_TIMEOUT);
            drive(http.serve_connection(io, service), protocol, turn, seen, leave, idle).await
        }
    };
    if let Err(error) = result {
        // Usually a client that disconnected. Its request, if any, is counted elsewhere.
        tracing::debug!(error = %error, "connection ended");
    }
}

/// Drives a connection until it ends, is idle for too long, must make room, or is drained.
///
/// Idle is the time without a request in flight. This covers a connection between requests, one that has never sent
/// anything (Go's transport may open one, use another, and keep the first for later), a request head that arrives byte
/// by byte, and a response that the client does not read.
async fn drive<C>(
    connection: C,
    protocol: Protocol,
    turn: FairShare,
    mut requests: watch::Receiver<ConnectionState>,
    leave: impl Future<Output = ()>,
    idle: IdleTimeouts,
) -> Result<(), C::Error>
where
    C: GracefulConnection,
{
    let mut connection = pin!(connection);
    let mut leave = pin!(leave);
    let begun = Instant::now();
    let mut leaving = None;
    let mut is_ending = false;
    loop {
        let now = *requests.borrow_and_update();
        let ConnectionState { any, proven, leave: must_leave, evicted, .. } = now;
        if evicted {
            return Ok(());
        }
        // On shutdown, hyper closes a connection without requests, although one may be on its way: an API server
        // connects in order to send. It gets a moment, and a response.
        if (leaving.is_some() && any || must_leave && protocol == Protocol::Http2) && !is_ending {
            is_ending = true;
            connection.as_mut().graceful_shutdown();
        }
        // Requests begin and end without notification: after one, the idle time restarts.
        let end = match (leaving, now.idle_since()) {
            (_, None) => Instant::now() + RECHECK,
            (Some(leaving), Some(_)) if !any => leaving + NEWCOMER,
            (_, Some(since)) => since.max(begun) + if proven { idle.kept } else { idle.unproven },
        };
        tokio::select! {
            biased;
            result = turn.drive(|context| connection.as_mut().poll(context)) => return result,
            () = &mut leave, if leaving.is_none() => leaving = Some(Instant::now()),
            // The sender is part of the slot.
            _ = requests.changed() => {}
            () = sleep_until(end) => {
                let then = *requests.borrow();
                if now.idle_since().is_some() && then.idle_since() == now.idle_since() {
                    return Ok(());
                }
            }
        }
    }
}

/// 32 KiB: hyper's read-ahead per connection, and the longest request head in HTTP/1.1. A body that waits for memory
/// holds two such buffers. With hyper's default of 400 KiB, large bodies made small requests wait six times longer
/// (measured: 45 ms against 7 ms at the 99th percentile).
const BUFFER: usize = 32 * 1024;

/// 16 KiB: the longest request head in HTTP/2, which counts 32 bytes more per field (RFC 9113, 6.5.2). An incomplete
/// head is held with four times that size, as a short field takes more memory than it counts.
const HEADERS: u32 = 16 * 1024;

/// An API server uses HTTP/2 only for a loopback URL, and its transport opens another connection if no stream is free
/// (Go's `net/http`). The memory of a stream is part of its connection.
const STREAMS: u32 = 8;

/// Frames that a client may send on excess streams before its connection ends: h2 remembers each such stream for a
/// while, with 400 bytes. Go's client opens a hundred before it receives the limit, each with headers and a body.
const REFUSED_FRAMES: usize = 200;

/// 32 KiB: unread data of a connection is part of its memory. With round trips of half a millisecond, this allows half
/// a gigabit per second. A new connection has 64 KiB, which a server cannot reduce (RFC 9113, 6.9.2).
const WINDOW: u32 = 32 * 1024;

/// Detects peers that disappeared silently. Ping responses do not make a connection busy.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval to check whether a request has ended, if one began when the idle timeout expired.
const RECHECK: Duration = Duration::from_secs(1);

/// Time to wait for the first request of a connection while draining: it may be on its way.
const NEWCOMER: Duration = Duration::from_secs(1);
