//! Accepts connections, and survives errors.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// Accepts one connection, with retries.
pub(super) async fn accept(socket: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut failing = false;
    loop {
        match socket.accept().await {
            Ok((stream, addr)) => {
                // A response is one small write: waiting for more data only adds latency.
                let _ = stream.set_nodelay(true);
                return (stream, addr);
            }
            // The client gave up in the queue.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            // Out of descriptors or memory: the connection stays queued and accept would fail again at once. Existing
            // connections end and free theirs.
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "failed to accept, retrying");
                }
                failing = true;
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
