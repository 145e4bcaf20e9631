//! A client that behaves like an API server: one connection, HTTP/1.1 or HTTP/2 over TLS, no retries.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Method, Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certs::{Authority, Pair};

/// Connection settings.
#[derive(Clone)]
pub(crate) struct Dial {
    addr: SocketAddr,
    trust: Vec<CertificateDer<'static>>,
    alpn: Vec<&'static str>,
    pair: Option<Pair>,
    /// Certificates sent after the certificate of the pair.
    chain: Vec<CertificateDer<'static>>,
    versions: Vec<&'static SupportedProtocolVersion>,
    window: Option<u32>,
    from: Option<Ipv4Addr>,
}

impl Dial {
    pub(crate) fn new(addr: SocketAddr, authority: &Authority) -> Self {
        let versions = vec![&version::TLS13, &version::TLS12];
        let (trust, alpn) = (vec![authority.der.clone()], vec!["http/1.1"]);
        Self { addr, trust, alpn, pair: None, chain: Vec::new(), versions, window: None, from: None }
    }

    pub(crate) fn http2(mut self) -> Self {
        self.alpn = vec!["h2", "http/1.1"];
        self
    }

    /// Sets the HTTP/2 window: response bytes that the server may send before an update.
    pub(crate) fn window(mut self, bytes: u32) -> Self {
        self.window = Some(bytes);
        self
    }

    /// Connects from this address; the loopback interface has many.
    pub(crate) fn from(mut self, address: Ipv4Addr) -> Self {
        self.from = Some(address);
        self
    }

    /// Trusts these authorities instead of the default one: a `caBundle`.
    pub(crate) fn trusting(mut self, bundle: &[CertificateDer<'static>]) -> Self {
        self.trust = bundle.to_vec();
        self
    }

    pub(crate) fn without_alpn(mut self) -> Self {
        self.alpn.clear();
        self
    }

    pub(crate) fn tls12(mut self) -> Self {
        self.versions = vec![&version::TLS12];
        self
    }

    /// Adds a client certificate.
    pub(crate) fn with(mut self, pair: Pair) -> Self {
        self.pair = Some(pair);
        self
    }

    /// Adds more certificates after the client certificate.
    pub(crate) fn chained(mut self, chain: Vec<CertificateDer<'static>>) -> Self {
        self.chain = chain;
        self
    }

    /// Opens only a socket.
    pub(crate) async fn socket(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(from) = self.from {
            socket.bind(SocketAddr::from((from, 0)))?;
        }
        let stream = socket.connect(self.addr).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Performs only a handshake.
    pub(crate) async fn handshake(&self) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        for authority in &self.trust {
            roots.add(authority.clone()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.pair {
            Some(pair) => {
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                let shown = [std::slice::from_ref(&pair.der), &self.chain].concat();
                builder.with_client_auth_cert(shown, key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = self.socket().await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    pub(crate) async fn connect(&self) -> io::Result<Client> {
        let stream = self.handshake().await?;
        let session = stream.get_ref().1;
        let served = session.peer_certificates().unwrap()[0].clone();
        let http2 = session.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let sender = if http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.initial_stream_window_size(self.window);
            let (sender, connection) = builder.handshake(io).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Sender::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Sender::Http1(sender)
        };
        Ok(Client { sender, served })
    }
}

enum Sender {
    Http1(http1::SendRequest<BoxBody<Bytes, Infallible>>),
    Http2(http2::SendRequest<BoxBody<Bytes, Infallible>>),
}

/// A connection.
pub(crate) struct Client {
    sender: Sender,
    /// The server's leaf certificate.
    pub(crate) served: CertificateDer<'static>,
}

impl Client {
    /// Posts a JSON body.
    pub(crate) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> hyper::Result<Answer> {
        self.send(self.request(Method::POST, path, body)).await
    }

    /// Posts a JSON body without a content length.
    pub(crate) async fn post_chunked(&mut self, path: &str, body: &[u8]) -> hyper::Result<Answer> {
        let chunks = Chunks(body.chunks(10_000).map(Bytes::copy_from_slice).collect()).boxed();
        self.send(self.request(Method::POST, path, Bytes::new()).map(|_| chunks)).await
    }

    /// Announces a body and sends none of its bytes.
    pub(crate) async fn announce(&mut self, path: &str, length: u64) -> hyper::Result<Answer> {
        let body = Announced(length).boxed();
        self.send(self.request(Method::POST, path, Bytes::new()).map(|_| body)).await
    }

    /// A JSON request, which a test may change before sending.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Request<BoxBody<Bytes, Infallible>> {
        let uri = match self.sender {
            Sender::Http1(_) => path.to_owned(),
            Sender::Http2(_) => format!("https://localhost{path}"),
        };
        let body = Full::new(body.into()).boxed();
        let mut request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, "application/json");
        if matches!(self.sender, Sender::Http1(_)) {
            request = request.header(HOST, "localhost");
        }
        request.body(body).unwrap()
    }

    pub(crate) async fn send(&mut self, request: Request<BoxBody<Bytes, Infallible>>) -> hyper::Result<Answer> {
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => sender.send_request(request).await?,
        };
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), version: head.version, headers: head.headers, body })
    }

    /// A second handle on the same HTTP/2 connection.
    pub(crate) fn stream(&self) -> Self {
        let Sender::Http2(sender) = &self.sender else { panic!("HTTP/1.1 has one request at a time") };
        Self { sender: Sender::Http2(sender.clone()), served: self.served.clone() }
    }
}

/// A body in pieces, without an announced length.
struct Chunks(VecDeque<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }
}

/// An announced body of this many bytes, none of which is sent.
struct Announced(u64);

impl Body for Announced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0)
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    /// Checks that the response is a refusal that an API server shows to its user, and returns its message: a `v1
    /// Status` Failure of the same code (client-go rest/request.go).
    pub(crate) fn refused(&self, code: u16) -> String {
        assert_eq!(self.status, code, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let status: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(
            (&status["apiVersion"], &status["kind"], &status["status"], &status["code"]),
            (&"v1".into(), &"Status".into(), &"Failure".into(), &code.into()),
        );
        let message = status["message"].as_str().unwrap().to_owned();
        assert!(!message.is_empty());
        message
    }
}

/// Gets a path over plain HTTP.
pub(crate) async fn get(addr: SocketAddr, path: &str) -> hyper::Result<Answer> {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut client = Client { sender: Sender::Http1(sender), served: CertificateDer::from(Vec::new()) };
    client.send(client.request(Method::GET, path, Bytes::new())).await
}
