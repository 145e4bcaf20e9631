//! Probes and metrics, whoever else is on their port.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::server::TestServer;

/// Silent ones, ones that stop within a head, ones that asked once and stay, and ones that do not read their answer.
#[tokio::test]
async fn probes_are_answered_whatever_is_connected() {
    let server = TestServer::echo().await;
    let mut held = Vec::new();
    for sent in [
        "",
        "GET /livez HTTP/1.1\r\nHost:",
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        for _ in 0..70 {
            let mut stream = TcpStream::connect(server.admin).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            held.push(stream);
        }
        let begun = Instant::now();
        assert_eq!(server.admin("/livez").await.status, 200);
        assert_eq!(server.admin("/readyz").await.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "{sent:?}: {:?}", begun.elapsed());
    }
    let evicted = server.metric("connections_evicted_total{listener=\"admin\"}").await;
    assert!(evicted > Some(200.0), "{evicted:?}");
}

/// Takes ten seconds, the time that a question may take.
#[tokio::test]
async fn who_asks_nothing_is_let_go() {
    let server = TestServer::echo().await;
    let mut silent = TcpStream::connect(server.admin).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut [0; 1])).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
}
