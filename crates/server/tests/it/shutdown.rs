//! Shutdown: readiness fails first, in-flight requests finish, and the time is bounded.

use std::time::{Duration, Instant};

use pointsman_server::ServeError;
use tokio::net::TcpStream;

use crate::support::eventually;
use crate::support::gate::{Gate, waiting};
use crate::support::server::{TestServer, echo};

async fn not_ready(server: &TestServer) {
    eventually("it is not ready", || async { (server.admin("/readyz").await.status == 503).then_some(()) }).await;
}

#[tokio::test]
async fn sigterm_answers_requests_in_flight() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let (mut http1, mut http2) = (server.http1().await, server.http2().await);
    let held1 = tokio::spawn(async move { http1.post("/convert", waiting(300)).await.unwrap() });
    let held2 = tokio::spawn(async move { http2.post("/convert", waiting(300)).await.unwrap() });
    gate.entered(2).await;

    server.stop();
    not_ready(&server).await;
    let report = server.admin("/readyz").await.text();
    assert!(report.contains("[-]shutdown failed"), "{report}");
    assert_eq!(server.admin("/livez").await.status, 200);
    eventually("it does not accept", || async { TcpStream::connect(server.addr).await.err() }).await;
    assert!(!held1.is_finished() && !held2.is_finished());

    gate.open();
    let (answer1, answer2) = (held1.await.unwrap(), held2.await.unwrap());
    assert_eq!((answer1.status, answer2.status), (200, 200));
    assert_eq!(answer1.header("connection"), Some("close"));
    assert_eq!(answer1.body.len(), 300 * 1024);
    server.ended().await.unwrap();
}

#[tokio::test]
async fn readiness_fails_before_draining_begins() {
    let server = TestServer::start(echo(), |options| options.lame_duck = Duration::from_secs(1)).await;
    let (mut old1, mut old2) = (server.http1().await, server.http2().await);
    let begun = Instant::now();
    server.stop();
    not_ready(&server).await;
    assert!(begun.elapsed() < Duration::from_millis(900), "too slow to tell: {:?}", begun.elapsed());

    let (mut new1, mut new2) = (server.http1().await, server.http2().await);
    for client in [&mut old1, &mut new1] {
        let answer = client.post("/convert", "{}").await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
    for client in [&mut old2, &mut new2] {
        let answer = client.post("/convert", "{}").await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, None));
    }
    server.ended().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn idle_connections_do_not_delay_shutdown() {
    let server = TestServer::echo().await;
    let (mut used1, mut used2) = (server.http1().await, server.http2().await);
    let (_fresh1, _fresh2) = (server.http1().await, server.http2().await);
    let _silent = server.dial().http2().handshake().await.unwrap();
    for client in [&mut used1, &mut used2] {
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    }
    let begun = Instant::now();
    server.stop();
    server.ended().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn draining_server_answers_new_request() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let (mut busy, mut late, mut kept) = (server.http1().await, server.http1().await, server.http1().await);
    assert_eq!(kept.post("/convert", "{}").await.unwrap().status, 200);
    let held = tokio::spawn(async move { busy.post("/convert", waiting(300)).await.unwrap() });
    gate.entered(1).await;
    server.stop();
    not_ready(&server).await;
    // A new connection has one second to send a request; a kept connection may be about to send one.
    for client in [&mut late, &mut kept] {
        let answer = client.post("/convert", "{}").await.unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
    server.ended().await.unwrap();
}

/// A load balancer that sends all traffic here for three more seconds, over kept and new connections.
#[tokio::test]
async fn late_callers_lose_nothing() {
    let server = TestServer::echo().await;
    let (mut kept1, mut kept2) = (server.http1().await, server.http2().await);
    assert_eq!(kept1.post("/convert", "{}").await.unwrap().status, 200);
    assert_eq!(kept2.post("/convert", "{}").await.unwrap().status, 200);
    server.stop();
    let begun = Instant::now();
    assert_eq!(kept1.post("/convert", "{}").await.unwrap().status, 200);
    while begun.elapsed() < Duration::from_secs(3) {
        for dial in [server.dial(), server.dial().http2()] {
            let answer = dial.connect().await.unwrap().post("/convert", "{}").await.unwrap();
            assert_eq!(answer.status, 200);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.ended().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn shutdown_grace_is_bounded() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| options.shutdown_grace = Duration::from_millis(300)).await;
    let mut client = server.http1().await;
    let held = tokio::spawn(async move { client.post("/convert", waiting(300)).await });
    gate.entered(1).await;
    server.stop();
    let ended = server.ended().await;
    assert!(matches!(ended, Err(ServeError::Grace { .. })), "{ended:?}");
    assert!(held.await.unwrap().is_err());
}

#[tokio::test]
async fn the_second_signal_aborts() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| options.lame_duck = Duration::from_secs(60)).await;
    let mut client = server.http1().await;
    let held = tokio::spawn(async move { client.post("/convert", waiting(300)).await });
    gate.entered(1).await;
    server.stop();
    not_ready(&server).await;
    server.stop();
    let ended = server.ended().await;
    assert!(matches!(ended, Err(ServeError::Aborted)), "{ended:?}");
    assert!(held.await.unwrap().is_err());
}
