//! Load above capacity: requests are refused with a retry time, or wait, and never block other requests.

use std::thread;
use std::time::{Duration, Instant};

use pointsman_server::{BodyLimits, RequestHandler};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::eventually;
use crate::support::gate::{Gate, waiting};
use crate::support::server::{TestServer, echo, echo_reply};

const MIB: u64 = 1 << 20;

/// A budget for one body of up to 1 MiB at a time, plus small bodies.
const ONE_LARGE: u64 = 9 * MIB;

#[tokio::test]
async fn excess_bytes_are_refused_then_recover() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.memory_budget = ONE_LARGE;
    })
    .await;
    let (mut first, mut second, mut small) = (server.http1().await, server.http1().await, server.http2().await);
    let held = tokio::spawn(async move { first.post("/convert", waiting(600)).await.unwrap() });
    gate.entered(1).await;

    let answer = second.post("/convert", waiting(600)).await.unwrap();
    answer.refused(503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    let answer = second.post_chunked("/convert", &waiting(600)).await.unwrap();
    answer.refused(503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    // A request that still fits is served.
    assert_eq!(small.post("/convert", "{}").await.unwrap().status, 200);

    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
    // The refused request again, on the same connection.
    assert_eq!(second.post("/convert", waiting(600)).await.unwrap().status, 200);
}

#[tokio::test]
async fn small_chunked_body_reserves_little() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.memory_budget = ONE_LARGE;
    })
    .await;
    let (mut first, mut second) = (server.http1().await, server.http1().await);
    let held = tokio::spawn(async move { first.post_chunked("/convert", &waiting(300)).await.unwrap() });
    gate.entered(1).await;
    assert_eq!(second.post_chunked("/convert", b"{}").await.unwrap().status, 200);
    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
}

#[tokio::test]
async fn budget_fits_the_largest_body() {
    let server = TestServer::start(echo(), |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.memory_budget = ONE_LARGE;
    })
    .await;
    let mut client = server.http1().await;
    for _ in 0..3 {
        assert_eq!(client.post("/convert", waiting(1024)).await.unwrap().status, 200);
    }
    // A body that can never be decided is not read.
    let server = TestServer::start(echo(), |options| options.memory_budget = MIB).await;
    let mut client = server.http1().await;
    assert_eq!(client.post("/convert", waiting(110)).await.unwrap().status, 200);
    client.post("/convert", waiting(1024)).await.unwrap().refused(413);
}

/// The test's runtime has one thread: a large decision on that thread would block everything.
#[tokio::test]
async fn large_decision_blocks_no_small() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let (mut large, mut small) = (server.http1().await, server.http1().await);
    let held = tokio::spawn(async move { large.post("/convert", waiting(300)).await.unwrap() });
    gate.entered(1).await;
    for _ in 0..100 {
        assert_eq!(small.post("/validate", "{}").await.unwrap().status, 200);
    }
    assert!(!held.is_finished());
    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
}

/// The test's runtime has one serving thread. Objects of the size that API servers send are decided there. Bodies that
/// could occupy the thread for longer, by length or by content, are decided elsewhere.
#[tokio::test]
async fn long_decision_uses_another_thread() {
    let serving = thread::current().id();
    let decide =
        RequestHandler::from_fn(move |_| Ok(echo_reply(format!("{}", thread::current().id() == serving).as_bytes())));
    let server = TestServer::start(decide, |_| {}).await;
    let mut client = server.http1().await;
    // An update of a recorded object contains the object twice. The largest recorded object has 13 kB, with a comma per
    // 30 bytes.
    let recorded = |bytes: usize| "\"name-of-a-field\":\"some text\",".repeat(bytes / 30).into_bytes();
    for (body, in_place) in [
        (recorded(6 << 10), "true"),
        (recorded(28 << 10), "true"),
        (recorded(40 << 10), "false"),
        (b"0,".repeat(5 << 10), "false"),
        (vec![b' '; 200 << 10], "false"),
    ] {
        let length = body.len();
        assert_eq!(client.post("/validate", body).await.unwrap().text(), in_place, "{length} bytes");
    }
}

#[tokio::test]
async fn share_lasts_as_long_as_decision() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.memory_budget = ONE_LARGE;
    })
    .await;
    let (mut first, mut second) = (server.http1().await, server.http1().await);
    let gone = tokio::spawn(async move { first.post("/convert", waiting(600)).await });
    gate.entered(1).await;
    // The client disconnects; its body is still in memory.
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    second.post("/convert", waiting(600)).await.unwrap().refused(503);
    gate.open();
}

#[tokio::test]
async fn connections_over_limit_queue() {
    let server = TestServer::start(echo(), |options| options.max_connections = 2).await;
    let (mut first, mut second) = (server.http1().await, server.http1().await);
    // Connections without any request would be evicted.
    for client in [&mut first, &mut second] {
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    }
    let dial = server.dial();
    let mut third = tokio::spawn(async move { dial.connect().await.unwrap() });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut third).await;
    assert!(early.is_err(), "a third connection was served");
    assert_eq!(first.post("/convert", "{}").await.unwrap().status, 200);
    drop(second);
    assert_eq!(third.await.unwrap().post("/convert", "{}").await.unwrap().status, 200);
}

/// The head of a raw HTTP/1.1 request; the body follows separately.
fn head(length: usize) -> String {
    format!("POST /convert HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn announced_body_reserves_nothing() {
    let server = TestServer::start(echo(), |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.memory_budget = ONE_LARGE;
    })
    .await;
    let mut announcing = Vec::new();
    for _ in 0..4 {
        let mut tls = server.dial().handshake().await.unwrap();
        tls.write_all(head(1 << 20).as_bytes()).await.unwrap();
        tls.flush().await.unwrap();
        announcing.push(tls);
    }
    let reading = "webhook_requests_in_flight{webhook=\"convert\"}";
    eventually("all of them are read", || async { (server.metric(reading).await == Some(4.0)).then_some(()) }).await;
    let mut client = server.http1().await;
    assert_eq!(client.post("/convert", waiting(300)).await.unwrap().status, 200);
}

#[tokio::test]
async fn unfetched_response_counts_as_memory() {
    // Far more than the socket buffers hold.
    const LARGE: usize = 24 << 20;
    let server = TestServer::start(echo(), |options| {
        options.body_limits = BodyLimits::up_to(64 * MIB);
        options.memory_budget = 200 * MIB;
        options.patience = Duration::from_secs(60);
        options.write_timeout = Duration::from_secs(60);
    })
    .await;
    let mut tls = server.dial().handshake().await.unwrap();
    tls.write_all(head(LARGE).as_bytes()).await.unwrap();
    tls.write_all(&vec![b' '; LARGE]).await.unwrap();
    tls.flush().await.unwrap();
    let decided = "webhook_outcomes_total{outcome=\"allow\",webhook=\"convert\"}";
    eventually("it is decided", || async { (server.metric(decided).await >= Some(1.0)).then_some(()) }).await;

    let mut other = server.http1().await;
    let large = vec![b' '; 24 << 20];
    other.post("/convert", large.clone()).await.unwrap().refused(503);
    let mut fetched = vec![0; LARGE];
    tls.read_exact(&mut fetched).await.unwrap();
    drop(tls);
    eventually("its share is free again", || {
        let large = large.clone();
        let dial = server.dial();
        async move {
            let mut client = dial.connect().await.ok()?;
            let answer = client.post("/convert", large).await.ok()?;
            (answer.status == 200).then_some(())
        }
    })
    .await;
}

/// Silent before the handshake, silent after the handshake, and with an endless body.
#[tokio::test]
async fn silent_connections_block_nobody() {
    let server = TestServer::start(echo(), |options| options.max_connections = 8).await;
    let mut kept = server.http1().await;
    assert_eq!(kept.post("/convert", "{}").await.unwrap().status, 200);
    let mut hostile = Vec::new();
    for _ in 0..16 {
        hostile.push(TcpStream::connect(server.addr).await.unwrap());
        server.dial().handshake().await.unwrap();
    }
    let mut idle = Vec::new();
    for _ in 0..16 {
        let mut tls = server.dial().handshake().await.unwrap();
        tls.write_all(head(100).as_bytes()).await.unwrap();
        tls.write_all(b"{").await.unwrap();
        tls.flush().await.unwrap();
        idle.push(tls);
    }
    let begun = Instant::now();
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
    assert_eq!(kept.post("/convert", "{}").await.unwrap().status, 200);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let evicted = server.metric("connections_evicted_total{listener=\"webhooks\"}").await;
    assert!(evicted > Some(16.0), "{evicted:?}");
}

const HELD: &str = "memory_held_bytes";

async fn nothing_is_held(server: &TestServer) {
    eventually("nothing is held", || async { (server.metric(HELD).await == Some(0.0)).then_some(()) }).await;
}

#[tokio::test]
async fn announced_streams_reserve_nothing() {
    let server = TestServer::start(echo(), |options| {
        options.memory_budget = 48 * MIB;
        // Existing holders keep their memory when later requests arrive.
        options.patience = Duration::from_secs(3600);
    })
    .await;
    let mut streams = JoinSet::new();
    for _ in 0..100 {
        let client = server.http2().await;
        for _ in 0..250 {
            let mut client = client.stream();
            streams.spawn(async move { client.announce("/convert", MIB).await });
        }
    }
    let reading = "webhook_requests_in_flight{webhook=\"convert\"}";
    eventually("each connection has all that it may", || async {
        (server.metric(reading).await == Some(800.0)).then_some(())
    })
    .await;
    assert_eq!(server.metric(HELD).await, Some(0.0), "an announcement costs nothing");
    let mut client = server.http1().await;
    assert_eq!(client.post("/convert", waiting(60)).await.unwrap().status, 200);
    drop(streams);
    nothing_is_held(&server).await;
}

#[tokio::test]
async fn unread_response_is_dropped() {
    let server = TestServer::start(echo(), |options| {
        options.write_timeout = Duration::from_millis(300);
    })
    .await;
    // HTTP/1.1, where the socket buffers fill up, and HTTP/2, where the client grants no window.
    let mut tls = server.dial().handshake().await.unwrap();
    let large = 24 << 20;
    tls.write_all(head(large).as_bytes()).await.unwrap();
    tls.write_all(&vec![b' '; large]).await.unwrap();
    tls.flush().await.unwrap();
    let mut unread = server.dial().http2().window(0).connect().await.unwrap();
    let unread = tokio::spawn(async move { unread.post("/convert", waiting(100)).await });
    let decided = "webhook_outcomes_total{outcome=\"allow\",webhook=\"convert\"}";
    eventually("both are decided", || async { (server.metric(decided).await == Some(2.0)).then_some(()) }).await;
    nothing_is_held(&server).await;
    assert!(unread.await.unwrap().is_err());
    drop(tls);
    // A reading client is served nevertheless.
    assert_eq!(server.http2().await.post("/convert", waiting(1000)).await.unwrap().status, 200);
}

#[tokio::test]
async fn unused_memory_moves_to_needy() {
    let server = TestServer::start(echo(), |options| {
        options.memory_budget = ONE_LARGE;
        options.patience = Duration::from_millis(200);
    })
    .await;
    let mut stalled = Vec::new();
    for _ in 0..8 {
        let mut tls = server.dial().handshake().await.unwrap();
        tls.write_all(head(1 << 20).as_bytes()).await.unwrap();
        tls.write_all(&vec![b' '; 1_000_000]).await.unwrap();
        tls.flush().await.unwrap();
        stalled.push(tls);
    }
    let begun = Instant::now();
    eventually("a large body is decided", || {
        let dial = server.dial();
        async move {
            let mut client = dial.connect().await.ok()?;
            let answer = client.post("/convert", waiting(1024)).await.ok()?;
            (answer.status == 200).then_some(())
        }
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(server.metric("memory_reclaimed_total").await > Some(0.0));
}
