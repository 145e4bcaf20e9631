//! One connection: HTTP on a stream, closed when it has been idle for too long and let go when the server drains.

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

/// How long a connection may stay without a request.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimeouts {
    /// One that has not sent a whole request yet.
    pub unproven: Duration,
    /// One that has.
    pub kept: Duration,
}

/// Serves one connection to its end, which gives back its slot. Dropping the future cuts it off.
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
    // Given back at the end, whatever happens on the way.
    let ConnectionSlot { requests, .. } = &slot;
    let seen = requests.subscribe();
    let turn = FairShare::default();
    let service = CountingService { handler, protocol, requests: requests.clone(), turn: turn.clone() };
    let leave = lifecycle.reached(protocol.leaves_at());
    let io = TokioIo::new(FairStream { io, turn: turn.clone(), one_read: protocol == Protocol::Http2 });
    let result = match protocol {
        Protocol::Http1 => {
            let mut http = http1::Builder::new();
            // hyper's own timeout for heads would do as an idle timeout, but only here; `drive` serves both protocols.
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
    let mut told = false;
    loop {
        let now = *requests.borrow_and_update();
        let ConnectionState { any, proven, leave: asked, evicted, .. } = now;
        if evicted {
            return Ok(());
        }
        // Told to end, hyper closes a connection that has had no request yet, although one may be on its way: an
        // API server connects in order to send. It is given a moment, and an answer.
        if (leaving.is_some() && any || asked && protocol == Protocol::Http2) && !told {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        // Requests come and go unheard: where one did meanwhile, the connection has not been idle for so long.
        let end = match (leaving, now.idle_since()) {
            (_, None) => Instant::now() + LOOK_AGAIN,
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

/// 32 KiB: how much of a connection hyper reads ahead, and the longest head of HTTP/1.1. A body that waits for memory
/// holds two such buffers. With hyper's default of 400 KiB, large bodies made small requests wait six times longer
/// (measured: 45 ms against 7 ms at the 99th percentile).
const BUFFER: usize = 32 * 1024;

/// 16 KiB: the longest head of HTTP/2, which counts 32 bytes more for each field (RFC 9113, 6.5.2). One that does not
/// end is held with four times of that, as a short field takes more memory than it counts.
const HEADERS: u32 = 16 * 1024;

/// An API server speaks HTTP/2 to a loopback URL alone, and its transport opens another connection where one has no
/// stream left (Go's `net/http`). What a stream holds is paid for with its connection.
const STREAMS: u32 = 8;

/// What a client may send on streams beyond these before its connection ends, in frames: h2 remembers each such stream
/// for a while, with 400 bytes. Go's client opens a hundred before it has heard how many there may be, and each of them
/// has a head and a body.
const REFUSED_FRAMES: usize = 200;

/// 32 KiB: what arrives on a connection and is not read yet is paid for with it. On a network with round trips
/// of half a millisecond these carry half a gigabit in a second. Of a new connection it is 64 KiB: no server can make
/// that smaller (RFC 9113, 6.9.2).
const WINDOW: u32 = 32 * 1024;

/// Finds peers that are gone without a word. Answers to pings do not make a connection busy.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// How soon it is seen that a request has ended, where there was one when a connection might have been idle for too
/// long.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long the first request of a connection is waited for while draining: it may be on its way.
const NEWCOMER: Duration = Duration::from_secs(1);
