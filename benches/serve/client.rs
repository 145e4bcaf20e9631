//! A client with the behaviour of an API server: HTTP/1.1 with keep-alive, head and body at once. Two further protocols
//! differ from an API server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::scenario::{Protocol, Scenario};

/// The reason for a missing response.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A server, and the authority of its certificate.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) addr: SocketAddr,
    http1: TlsConnector,
    http2: TlsConnector,
}

impl Target {
    pub(crate) fn new(addr: SocketAddr, ca: &Path) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).expect("a certificate")).expect("an authority");
        let connector = |alpn: &[u8]| {
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let mut config = builder.expect("versions").with_root_certificates(roots.clone()).with_no_client_auth();
            config.alpn_protocols = vec![alpn.to_vec()];
            TlsConnector::from(Arc::new(config))
        };
        Self { addr, http1: connector(b"http/1.1"), http2: connector(b"h2") }
    }

    pub(crate) async fn connect(&self, protocol: Protocol) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        let connector = if protocol == Protocol::Http2 { &self.http2 } else { &self.http1 };
        let io = TokioIo::new(connector.connect(ServerName::try_from("localhost")?, stream).await?);
        if protocol == Protocol::Http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            return Ok(Connection::Http2(sender));
        }
        let (sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Connection::Http1(sender))
    }
}

/// An open connection.
pub(crate) enum Connection {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Sends the request of a scenario and returns the response body. Any status other than 200 is a failure.
    pub(crate) async fn ask(&mut self, scenario: &Scenario) -> Result<Bytes, Failure> {
        let uri = format!("{}?timeout=30s", scenario.call.path());
        let mut request = Request::new(Full::new(scenario.body.clone()));
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, "application/json".parse()?);
        headers.insert(USER_AGENT, "kube-apiserver-admission".parse()?);
        let answer = match self {
            Self::Http1(sender) => {
                headers.insert(HOST, "localhost".parse()?);
                *request.uri_mut() = uri.parse()?;
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Http2(sender) => {
                *request.uri_mut() = format!("https://localhost{uri}").parse()?;
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    /// Another sender on the same connection, if the protocol has streams.
    pub(crate) fn stream(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
        }
    }
}
