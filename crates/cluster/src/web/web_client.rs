//! A single HTTP request to a server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, HOST, USER_AGENT};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use pointsman_rollout::{HttpAddress, ProbeResult};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::system_roots::system_roots;
use crate::error_chain::chain;
use crate::tls_connector::tls_connector;

/// Sends HTTP requests, each on its own connection.
#[derive(Clone, Default)]
pub(crate) struct WebClient {
    /// Created at the first TLS connection: plain HTTP needs no authorities.
    tls: Arc<OnceLock<TlsConnector>>,
}

/// The requested part of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyWanted {
    /// Status and body.
    All,
    /// Only the status; the body is not read.
    Nothing,
}

impl WebClient {
    /// With these authorities.
    #[cfg(test)]
    pub(super) fn trusting(roots: rustls::RootCertStore) -> Self {
        Self { tls: Arc::new(OnceLock::from(tls_connector(roots).unwrap())) }
    }

    /// Sends one request. Returns the response with any status, or an error text without the address.
    pub(crate) async fn get(&self, address: &HttpAddress, wanted: BodyWanted) -> Result<ProbeResult, String> {
        let late = |_| Err(format!("no answer within {} s", PATIENCE.as_secs()));
        timeout(PATIENCE, self.connect_and_send(address, wanted)).await.unwrap_or_else(late)
    }

    async fn connect_and_send(&self, address: &HttpAddress, wanted: BodyWanted) -> Result<ProbeResult, String> {
        let stream = TcpStream::connect((address.host(), address.port())).await;
        let stream = stream.map_err(|error| format!("unreachable: {error}"))?;
        if !address.is_https() {
            return send(stream, address, wanted).await;
        }
        let name = ServerName::try_from(address.host().to_owned());
        let name = name.map_err(|_| "the host name is invalid for a certificate".to_owned())?;
        let stream = self.tls()?.connect(name, stream).await;
        send(stream.map_err(|error| format!("TLS: {}", chain(&error)))?, address, wanted).await
    }

    /// Retries after a failure: a file of authorities may be mounted late.
    fn tls(&self) -> Result<&TlsConnector, String> {
        if let Some(known) = self.tls.get() {
            return Ok(known);
        }
        let made = tls_connector(system_roots()?)?;
        Ok(self.tls.get_or_init(|| made))
    }
}

async fn send<S>(stream: S, address: &HttpAddress, wanted: BodyWanted) -> Result<ProbeResult, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let text = |error: hyper::Error| format!("invalid HTTP response: {}", chain(&error));
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
    // Dropped at the end in any case.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::get(address.target())
        .header(HOST, address.authority())
        .header(ACCEPT, if wanted == BodyWanted::All { "application/json" } else { "*/*" })
        .header(USER_AGENT, concat!("pointsman/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<Bytes>::new());
    let request = request.map_err(|error| format!("the request cannot be sent: {error}"))?;
    let response = sender.send_request(request).await.map_err(text)?;
    let code = response.status().as_u16();
    if wanted == BodyWanted::Nothing {
        return Ok(ProbeResult { code, body: Vec::new() });
    }
    match Limited::new(response.into_body(), LARGEST).collect().await {
        Ok(body) => Ok(ProbeResult { code, body: body.to_bytes().into() }),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(format!("the response has more than {} KiB, but must be one number", LARGEST >> 10))
        }
        Err(error) => Err(format!("the answer ends early: {}", chain(&*error))),
    }
}

/// Limit from name resolution to the last byte. Checks run concurrently every 5 s (`rollout/lookups.rs`), so a slow one
/// delays only the next run, and a Lease lasts three times as long. A kubelet probe waits 1 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// A sample with 30 labels has about 2 KiB, so this fits 500: the error for a query without `sum` contains their
/// number. Used once per check while reading.
const LARGEST: usize = 1 << 20;
