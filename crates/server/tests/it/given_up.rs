//! Decisions whose callers have disconnected.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pointsman_core::webhook::HandleError;
use pointsman_server::RequestHandler;

use crate::support::eventually;
use crate::support::gate::{Gate, waiting};
use crate::support::server::{TestServer, echo_reply};

const IN_FLIGHT: &str = "webhook_requests_in_flight{webhook=\"convert\"}";

fn given_up(reason: &str) -> String {
    format!("webhook_decisions_given_up_total{{reason=\"{reason}\",webhook=\"convert\"}}")
}

/// Decides until its caller disconnects, and counts running decisions. Bounded, so that a server that never cancels
/// fails the test instead of blocking it.
fn endless() -> (Arc<AtomicUsize>, RequestHandler) {
    let under_way = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&under_way);
    let decide = RequestHandler::from_fn(move |request| {
        if !request.body().starts_with(b"wait") {
            return Ok(echo_reply(request.body()));
        }
        counted.fetch_add(1, Ordering::SeqCst);
        let begun = Instant::now();
        while request.is_awaited() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
        counted.fetch_sub(1, Ordering::SeqCst);
        if request.is_awaited() { Ok(echo_reply(request.body())) } else { Err(HandleError::ClientDisconnected) }
    });
    (under_way, decide)
}

async fn is(server: &TestServer, series: &str, value: f64) {
    eventually(series, || async { (server.metric(series).await == Some(value)).then_some(()) }).await;
}

async fn all_is_over(server: &TestServer, under_way: &AtomicUsize) {
    let none = || async { (under_way.load(Ordering::SeqCst) == 0).then_some(()) };
    eventually("the decision ends", none).await;
    is(server, IN_FLIGHT, 0.0).await;
    is(server, "memory_held_bytes", 0.0).await;
}

#[tokio::test]
async fn decision_ends_at_caller_deadline() {
    let (under_way, decide) = endless();
    let server = TestServer::start(decide, |_| {}).await;
    let mut client = server.http1().await;
    assert_eq!(server.metric(&given_up("deadline")).await, Some(0.0));
    let begun = Instant::now();
    let answer = client.post("/convert?timeout=300ms", waiting(600)).await.unwrap();
    answer.refused(504);
    // An API server would retry within an expired deadline, and the retry would take as long.
    assert_eq!(answer.header("retry-after"), None);
    assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    all_is_over(&server, &under_way).await;
    is(&server, &given_up("deadline"), 1.0).await;
    is(&server, &given_up("left"), 0.0).await;
    // The connection stays open.
    assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn decision_ends_at_server_deadline() {
    let (under_way, decide) = endless();
    let server = TestServer::start(decide, |options| options.request_deadline = Duration::from_millis(300)).await;
    server.http2().await.post("/convert?timeout=1h", waiting(600)).await.unwrap().refused(504);
    all_is_over(&server, &under_way).await;
    is(&server, &given_up("deadline"), 1.0).await;
}

#[tokio::test]
async fn decision_ends_with_its_caller() {
    let (under_way, decide) = endless();
    let server = TestServer::start(decide, |_| {}).await;
    for (times, by_http2) in [(1.0, false), (2.0, true)] {
        let mut client = if by_http2 { server.http2().await } else { server.http1().await };
        let asking = tokio::spawn(async move { client.post("/convert", waiting(600)).await });
        is(&server, IN_FLIGHT, 1.0).await;
        let begins = || async { (under_way.load(Ordering::SeqCst) == 1).then_some(()) };
        eventually("it is decided", begins).await;
        asking.abort();
        all_is_over(&server, &under_way).await;
        is(&server, &given_up("left"), times).await;
    }
    is(&server, &given_up("deadline"), 0.0).await;
    let errors = server.admin("/errors").await.text();
    assert!(errors.contains("decision abandoned: the client closed its connection"), "{errors}");
}

/// A running decision is in flight, on any thread, with or without a waiting caller.
#[tokio::test]
async fn decision_counts_until_it_ends() {
    /// Reservation of a body of 600 KiB, in bytes: six times the body.
    const EACH: f64 = 6.0 * 600.0 * 1024.0;
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let mut client = server.http1().await;
    client.post("/convert?timeout=300ms", waiting(600)).await.unwrap().refused(504);
    gate.entered(1).await;
    assert!(server.metric("memory_held_bytes").await > Some(EACH), "the memory is still held after the response");
    let asking = tokio::spawn(async move { client.post("/convert", waiting(600)).await });
    gate.entered(2).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    is(&server, &given_up("left"), 1.0).await;
    assert_eq!(server.metric(IN_FLIGHT).await, Some(2.0));
    assert!(server.metric("memory_held_bytes").await > Some(2.0 * EACH));
    gate.open();
    is(&server, IN_FLIGHT, 0.0).await;
    is(&server, "memory_held_bytes", 0.0).await;
}

/// Large decisions wait for each other, so that a single object finds a free thread. A cancelled waiter has never
/// started, and holds no resources.
#[tokio::test]
async fn oversized_bodies_queue() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut asking = Vec::new();
    for _ in 0..cores {
        let mut client = server.http1().await;
        asking.push(tokio::spawn(async move { client.post("/convert", waiting(5000)).await.unwrap().status }));
    }
    gate.entered(cores).await;
    let held = server.metric("memory_held_bytes").await;
    let mut late = server.http1().await;
    late.post("/convert?timeout=1s", waiting(5000)).await.unwrap().refused(504);
    is(&server, "memory_held_bytes", held.unwrap()).await;
    is(&server, IN_FLIGHT, cores as f64).await;
    assert_eq!(late.post("/convert", vec![b' '; 3 << 20]).await.unwrap().status, 200);
    gate.open();
    for asking in asking {
        assert_eq!(asking.await.unwrap(), 200);
    }
    assert_eq!(gate.entries(), cores);
    assert_eq!(late.post("/convert", waiting(5000)).await.unwrap().status, 200);
}
