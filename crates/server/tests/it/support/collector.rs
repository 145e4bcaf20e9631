//! A minimal collector of spans.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::eventually;
use pointsman_server::Collector;

/// The collector's responses.
#[derive(Clone, Copy)]
pub(crate) enum Behaviour {
    Takes,
    /// Rejects this many spans of each call, and accepts the others.
    RefusesSome(u8),
    /// Responds with 503.
    Busy,
    /// Responds with data that is not HTTP.
    Babbles,
    /// Responds with 200 and an invalid body.
    Garbles,
    /// Accepts and reads, and never responds.
    Hangs,
}

/// A collector in this process.
pub(crate) struct FakeCollector {
    pub(crate) addr: SocketAddr,
    taken: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl FakeCollector {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&taken);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, behaviour, Arc::clone(&seen)));
            }
        });
        Self { addr, taken }
    }

    /// The collector's address, for a server.
    pub(crate) fn address(&self) -> Option<Collector> {
        Some(format!("http://{}", self.addr).parse().unwrap())
    }

    /// All received spans, in order.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let taken = self.taken.lock().unwrap();
        let scopes = taken.iter().flat_map(|request| &request.resource_spans).flat_map(|of| &of.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    /// Waits for this many spans.
    pub(crate) async fn received(&self, count: usize) -> Vec<Span> {
        eventually("the spans arrive", || async { Some(self.spans()).filter(|spans| spans.len() >= count) }).await
    }

    /// The resource of the sender, as `key=value`.
    pub(crate) fn resource(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        let resource = taken[0].resource_spans[0].resource.as_ref().unwrap();
        resource
            .attributes
            .iter()
            .map(|pair| format!("{}={}", pair.key, text(pair.value.as_ref().unwrap().value.as_ref())))
            .collect()
    }
}

async fn answer(mut stream: TcpStream, behaviour: Behaviour, taken: Arc<Mutex<Vec<ExportTraceServiceRequest>>>) {
    let (head, body) = read(&mut stream).await;
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
    taken.lock().unwrap().push(ExportTraceServiceRequest::decode(&*body).unwrap());
    let ok =
        |body: &[u8]| [format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat();
    let answer = match behaviour {
        Behaviour::Takes => ok(b""),
        // partial_success (1) with rejected_spans (1)
        Behaviour::RefusesSome(spans) => ok(&[0x0a, 2, 0x08, spans]),
        Behaviour::Busy => b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec(),
        Behaviour::Babbles => b"SSH-2.0-nonsense\r\n".to_vec(),
        Behaviour::Garbles => ok(&[0xff; 9]),
        Behaviour::Hangs => return std::future::pending().await,
    };
    stream.write_all(&answer).await.unwrap();
}

async fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request ended early");
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end + 4].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if bytes.len() == end + 4 + length.parse::<usize>().unwrap() {
            return (head, bytes.split_off(end + 4));
        }
    }
}

/// The value of an attribute as text; empty if absent.
pub(crate) fn attribute(span: &Span, key: &str) -> String {
    let pair = span.attributes.iter().find(|pair| pair.key == key);
    text(pair.and_then(|pair| pair.value.as_ref()?.value.as_ref()))
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(other) => panic!("{other:?}"),
    }
}
