//! JSON requests, to the API server over TLS and to etcd and metrics pages in plain HTTP.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The runtime of all requests: scenarios are ordinary threads.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
});

/// A response of the API server.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    /// The body as received, with the text of numbers.
    pub(crate) text: String,
    /// The warnings for the user.
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// The object; the request must have succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!(self.is_ok(), "HTTP {}: {}", self.code, self.body);
        self.body
    }

    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The message; the request must have failed with this code.
    #[track_caller]
    pub(crate) fn fails(&self, code: u16) -> String {
        assert_eq!(self.code, code, "{}", self.body);
        self.message()
    }

    pub(crate) fn message(&self) -> String {
        self.body["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// An event of a followed resource.
pub(crate) enum Heard {
    /// The complete list: all other objects are deleted.
    All(Vec<Value>),
    Changed(Value),
    Gone(Value),
}

/// A forwarded body.
pub(crate) type Passed = BoxBody<Bytes, hyper::Error>;

/// A complete body.
pub(crate) fn whole(body: impl Into<Bytes>) -> Passed {
    Full::new(body.into()).map_err(|never| match never {}).boxed()
}

/// A client of one API server, as `system:masters`, over one HTTP/2 connection.
pub(crate) struct Client {
    port: u16,
    tls: TlsConnector,
    sender: Mutex<Option<http2::SendRequest<Full<Bytes>>>>,
}

impl Client {
    /// `ca` is PEM; the certificate must be for 127.0.0.1.
    pub(crate) fn new(port: u16, ca: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for cert in CertificateDer::pem_slice_iter(ca.as_bytes()) {
            roots.add(cert.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Self { port, tls: TlsConnector::from(Arc::new(config)), sender: Mutex::new(None) }
    }

    /// A client of the same API server with its own connection.
    pub(crate) fn another(&self) -> Self {
        Self { port: self.port, tls: self.tls.clone(), sender: Mutex::new(None) }
    }

    /// Forwards a request with its credentials. `None` without a server.
    pub(crate) async fn forward(&self, head: Parts, path: &str, body: Bytes) -> Option<Response<Passed>> {
        let mut sender = self.try_connected().await?;
        let mut request = Request::builder().method(head.method).uri(format!("https://127.0.0.1:{}{path}", self.port));
        for (name, value) in head.headers.iter().filter(|(name, _)| !matches!(name.as_str(), "host" | "connection")) {
            request = request.header(name, value);
        }
        let response = sender.send_request(request.body(Full::new(body)).unwrap()).await.ok()?;
        let (head, body) = response.into_parts();
        // A watch has no end.
        if path.contains("watch=") {
            return Some(Response::from_parts(head, body.boxed()));
        }
        Some(Response::from_parts(head, whole(body.collect().await.ok()?.to_bytes())))
    }

    /// Sends a request and reads the response. Patches name their media type; other bodies are JSON.
    pub(crate) fn call(&self, method: Method, path: &str, body: Option<(&str, String)>) -> Answer {
        let asked = format!("{method} {path} {}", body.as_ref().map_or("", |(_, text)| text));
        remember(&format!("asked    {asked}"));
        let answer = RUNTIME.block_on(async {
            let work = async {
                let response = self.send(method, path, body).await;
                let code = response.status().as_u16();
                let warnings = warnings(&response);
                let bytes = response.into_body().collect().await.unwrap().to_bytes();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone()));
                Answer { code, body, text, warnings }
            };
            timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("{path}: no answer"))
        });
        remember(&format!("answered {} {}", answer.code, answer.text));
        answer
    }

    /// The first `count` events of a watch, or fewer after `patience`.
    pub(crate) fn watch(&self, path: &str, count: usize, patience: Duration) -> Vec<Value> {
        RUNTIME.block_on(async {
            let response = self.send(Method::GET, path, None).await;
            let (mut body, mut buffer, mut events) = (response.into_body(), Vec::new(), Vec::new());
            let read = async {
                while events.len() < count {
                    let Some(Ok(frame)) = body.frame().await else {
                        return;
                    };
                    buffer.extend_from_slice(&frame.into_data().unwrap_or_default());
                    events.extend(told(&mut buffer));
                }
            };
            let _ = timeout(patience, read).await;
            events
        })
    }

    /// Lists a resource, then reports each change in order, until `ends` is set.
    pub(crate) fn follow(&self, path: &str, ends: &AtomicBool, mut hears: impl FnMut(Heard)) {
        while !ends.load(Ordering::Relaxed) {
            let mut list = self.call(Method::GET, path, None).body;
            let Some(version) = list["metadata"]["resourceVersion"].as_str().map(str::to_owned) else {
                // The resource does not exist yet.
                std::thread::sleep(Duration::from_millis(200));
                continue;
            };
            hears(Heard::All(list["items"].take().as_array_mut().map(std::mem::take).unwrap_or_default()));
            RUNTIME.block_on(async {
                let path = format!("{path}?watch=true&resourceVersion={version}");
                let (mut body, mut buffer) = (self.send(Method::GET, &path, None).await.into_body(), Vec::new());
                while !ends.load(Ordering::Relaxed) {
                    let Ok(frame) = timeout(Duration::from_millis(200), body.frame()).await else { continue };
                    let Some(Ok(frame)) = frame else { return };
                    buffer.extend_from_slice(&frame.into_data().unwrap_or_default());
                    for mut event in told(&mut buffer) {
                        let object = event["object"].take();
                        match event["type"].as_str() {
                            Some("ADDED" | "MODIFIED") => hears(Heard::Changed(object)),
                            Some("DELETED") => hears(Heard::Gone(object)),
                            // The changes are unknown: list again.
                            _ => return,
                        }
                    }
                }
            });
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&str, String)>) -> Response<Incoming> {
        let mut sender = self.connected().await;
        let (form, body) = body.unwrap_or(("application/json", String::new()));
        let request = Request::builder()
            .method(method)
            .uri(format!("https://127.0.0.1:{}{path}", self.port))
            .header("authorization", "Bearer secret-token")
            .header("content-type", form)
            .body(Full::new(body.into()))
            .unwrap();
        let sent = sender.send_request(request).await;
        sent.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn connected(&self) -> http2::SendRequest<Full<Bytes>> {
        self.try_connected().await.expect("an API server")
    }

    async fn try_connected(&self) -> Option<http2::SendRequest<Full<Bytes>>> {
        if let Some(sender) = self.sender.lock().unwrap().as_ref()
            && !sender.is_closed()
        {
            return Some(sender.clone());
        }
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = self.tls.connect(name, stream).await.ok()?;
        let io = TokioIo::new(stream);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.ok()?;
        tokio::spawn(connection);
        *self.sender.lock().unwrap() = Some(sender.clone());
        Some(sender)
    }
}

/// Takes the complete events out of the buffer.
fn told(buffer: &mut Vec<u8>) -> Vec<Value> {
    let end = buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let whole: Vec<u8> = buffer.drain(..end).collect();
    let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

thread_local! {
    static TRAIL: RefCell<VecDeque<String>> = const { RefCell::new(VecDeque::new()) };
}

/// The last requests of this thread and their responses, oldest first.
pub(crate) fn trail() -> String {
    TRAIL.take().into_iter().collect::<Vec<_>>().join("\n")
}

fn remember(line: &str) {
    TRAIL.with_borrow_mut(|trail| {
        trail.push_back(line.chars().take(LINE).collect());
        if trail.len() > LINES {
            trail.pop_front();
        }
    });
}

/// Number of remembered requests, and characters of each.
const LINES: usize = 6;
const LINE: usize = 1500;

/// The texts of `Warning: 299 - "..."` headers.
fn warnings(response: &Response<Incoming>) -> Vec<String> {
    let headers = response.headers().get_all("warning").iter();
    let text = |value: &hyper::header::HeaderValue| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let quoted = value.split_once('"').map_or("", |(_, quoted)| quoted);
        quoted.trim_end_matches('"').replace("\\\"", "\"")
    };
    headers.map(text).collect()
}

/// A request in plain HTTP, or `None` without a server.
pub(crate) fn plain(method: Method, port: u16, path: &str, body: String) -> Option<(u16, Bytes)> {
    let work = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .body(Full::<Bytes>::new(body.into()))
            .unwrap();
        let response = sender.send_request(request).await.ok()?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        Some((code, bytes))
    };
    RUNTIME.block_on(async { timeout(PATIENCE, work).await.ok().flatten() })
}

/// Longer than the API server waits for a webhook.
const PATIENCE: Duration = Duration::from_secs(65);
