//! Connections of slow, silent, disconnected or idle clients.

use std::time::{Duration, Instant};

use pointsman_server::{Options, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::certs::Authority;
use crate::support::eventually;
use crate::support::server::{TestServer, echo};
use crate::support::volume::Volume;

#[tokio::test]
async fn slow_bodies_get_timeout_response() {
    let server = TestServer::echo().await;
    let mut stream = server.dial().handshake().await.unwrap();
    let begun = Instant::now();
    let head = "POST /convert?timeout=200ms HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert!((Duration::from_millis(200)..Duration::from_secs(5)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn request_deadline_bounds_the_callers_timeout() {
    let server = TestServer::start(echo(), |options| options.request_deadline = Duration::from_millis(200)).await;
    let mut stream = server.dial().handshake().await.unwrap();
    let head = "POST /convert?timeout=1h HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    stream.write_all(format!("{head}Content-Length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn aborted_bodies_harm_no_other_request() {
    let server = TestServer::echo().await;
    let mut stream = server.dial().handshake().await.unwrap();
    let head = "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let in_flight = "webhook_requests_in_flight{webhook=\"convert\"}";
    eventually("the request is begun", || async { (server.metric(in_flight).await == Some(1.0)).then_some(()) }).await;
    drop(stream);
    eventually("it is given up", || async { (server.metric(in_flight).await == Some(0.0)).then_some(()) }).await;
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
}

/// Takes ten seconds, the deadline of a handshake.
#[tokio::test]
async fn silent_handshakes_end_at_deadline() {
    let server = TestServer::echo().await;
    let begun = Instant::now();
    let mut silent = TcpStream::connect(server.addr).await.unwrap();
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
    let read = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut [0; 1])).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    assert!(begun.elapsed() >= Duration::from_secs(9), "{:?}", begun.elapsed());
    assert_eq!(server.metric("tls_handshake_failures_total{reason=\"timeout\"}").await, Some(1.0));
}

#[tokio::test]
async fn connections_without_requests_are_closed() {
    let idle = Duration::from_millis(300);
    let server = TestServer::start(echo(), |options| options.idle_timeout = idle).await;
    // Silent after the handshake, half a head, half a preface.
    for (dial, sent) in [
        (server.dial(), ""),
        (server.dial(), "POST /convert HTTP/1.1\r\nHost:"),
        (server.dial().http2(), ""),
        (server.dial().http2(), "PRI * HTTP"),
    ] {
        let begun = Instant::now();
        let mut stream = dial.handshake().await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await;
        read.expect("still open").ok();
        assert!(begun.elapsed() >= idle, "{:?}", begun.elapsed());
    }
    for dial in [server.dial(), server.dial().http2()] {
        let mut client = dial.connect().await.unwrap();
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
        eventually("an idle connection ends", || async {
            (server.metric("webhook_connections").await == Some(0.0)).then_some(())
        })
        .await;
        assert!(client.post("/convert", "{}").await.is_err());
    }
}

/// Longer than the 90 s for which an API server keeps an unused connection. The test advances the clock of all server
/// timeouts: data in transit would be late by the same amount.
#[tokio::test]
async fn idle_connections_answer_after_100_seconds() {
    let server = TestServer::echo().await;
    let (mut http1, mut http2) = (server.http1().await, server.http2().await);
    // Opened but unused, as Go's transport does.
    let mut fresh = server.http1().await;
    for client in [&mut http1, &mut http2] {
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    }
    passes(Duration::from_secs(100)).await;
    for client in [&mut http1, &mut http2, &mut fresh] {
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    }
    assert_eq!(server.metric("webhook_connections").await, Some(3.0));
    passes(Duration::from_secs(130)).await;
    for client in [&mut http1, &mut http2, &mut fresh] {
        assert!(client.post("/convert", "{}").await.is_err(), "the server's clock was not moved");
    }
}

/// Advances the clock at once.
async fn passes(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
    // Tasks that waited for this time run.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// An overflowing accept queue drops connections, and a client retries after one second.
#[tokio::test]
async fn hundreds_may_knock_at_once() {
    let volume = Volume::new(&Authority::new().issue());
    let any = "127.0.0.1:0".parse().unwrap();
    let bound = Server::bind(Options::new(any, any, volume.cert_paths()), echo()).await.unwrap();
    for addr in [bound.local_addr().unwrap(), bound.admin_addr().unwrap()] {
        let mut waiting = Vec::new();
        for _ in 0..500 {
            let connected = tokio::time::timeout(Duration::from_millis(900), TcpStream::connect(addr)).await;
            waiting.push(connected.expect("it waits to try again").unwrap());
        }
    }
}
