//! Spans of requests for a collector; no request waits for the collector.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use pointsman_core::webhook::{BadReview, Conversions, Outcome, Reply};
use pointsman_server::RequestHandler;

use crate::support::collector::{Behaviour, FakeCollector, attribute};
use crate::support::eventually;
use crate::support::server::{TestServer, echo, echo_reply};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn traced(server: &TestServer, path: &str, headers: &[(&'static str, &str)], body: &str) -> u16 {
    let mut client = server.http1().await;
    let mut request = client.request(Method::POST, path, body.to_owned());
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    client.send(request).await.unwrap().status
}

/// The core's report of two converted objects.
fn converted() -> RequestHandler {
    let name = |name: &str| -> Arc<str> { name.into() };
    RequestHandler::from_fn(move |request| {
        let conversions = Conversions { kind: name("Widget"), from: name("v1"), to: name("v2"), objects: 2 };
        Ok(Reply { outcome: Outcome::Convert, conversions: vec![conversions], ..echo_reply(request.body()) })
    })
}

async fn collected(decide: RequestHandler) -> (FakeCollector, TestServer) {
    let collector = FakeCollector::start(Behaviour::Takes).await;
    let server = TestServer::start(decide, |options| options.collector = collector.address()).await;
    (collector, server)
}

#[tokio::test]
async fn request_span_joins_callers_trace() {
    let (collector, server) = collected(converted()).await;
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("traceparent", parent.as_str()), ("tracestate", "vendor=1")];
    assert_eq!(traced(&server, "/convert?timeout=30s", &headers, "{\"secret\":\"hunter2\"}").await, 200);
    let spans = collector.received(1).await;
    let [span] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), CALLER.to_owned()));
    assert_eq!(
        (span.trace_state.as_str(), span.name.as_str(), span.kind()),
        ("vendor=1", "POST /convert", SpanKind::Server)
    );
    for (key, value) in [
        ("http.route", "/convert"),
        ("http.response.status_code", "200"),
        ("pointsman.webhook", "convert"),
        ("pointsman.outcome", "convert"),
        ("pointsman.review.uid", "uid"),
        ("pointsman.kind", "Widget"),
        ("pointsman.from", "v1"),
        ("pointsman.to", "v2"),
        ("pointsman.objects", "2"),
    ] {
        assert_eq!(attribute(span, key), value, "{key}");
    }
    assert!(span.status.as_ref().is_none_or(|status| status.code() == StatusCode::Unset), "{:?}", span.status);
    assert!(!format!("{span:?}").contains("hunter2"), "{span:?}");
    let resource = collector.resource();
    assert!(resource.contains(&"service.name=pointsman".to_owned()), "{resource:?}");
}

/// A slowly arriving body does not count as decision time.
#[tokio::test]
async fn decision_is_timed_without_arrival() {
    let decide = RequestHandler::from_fn(|request| {
        std::thread::sleep(Duration::from_millis(30));
        Ok(echo_reply(request.body()))
    });
    let (collector, server) = collected(decide).await;
    assert_eq!(traced(&server, "/validate", &[], "{}").await, 200);
    let spans = collector.received(1).await;
    let seconds = |key| attribute(&spans[0], key).parse::<f64>().unwrap();
    let (arrival, decision) = (seconds("pointsman.arrival_seconds"), seconds("pointsman.decision_seconds"));
    let whole = Duration::from_nanos(spans[0].end_time_unix_nano - spans[0].start_time_unix_nano).as_secs_f64();
    assert!(decision >= 0.03 && arrival >= 0.0 && arrival + decision <= whole, "{arrival} + {decision} in {whole}");
}

#[tokio::test]
async fn unsampled_request_has_no_span() {
    let (collector, server) = collected(echo()).await;
    let parent = |flags| format!("00-{TRACE}-{CALLER}-{flags}");
    assert_eq!(traced(&server, "/mutate", &[("traceparent", &parent("00"))], "{}").await, 200);
    assert_eq!(traced(&server, "/no-such-path", &[], "{}").await, 404);
    assert_eq!(traced(&server, "/validate", &[("traceparent", &parent("01"))], "{}").await, 200);
    let begun = collector.received(1).await;
    assert_eq!(begun.len(), 1);
    assert_eq!((hex(&begun[0].trace_id).as_str(), begun[0].name.as_str()), (TRACE, "POST /validate"));
}

#[tokio::test]
async fn invalid_trace_starts_a_new_one() {
    let (collector, server) = collected(echo()).await;
    let (long, parent) = ("a=1,".repeat(4000), format!("00-{TRACE}-{CALLER}-01"));
    for headers in [&[][..], &[("traceparent", "nonsense")], &[("traceparent", parent.as_str()), ("tracestate", &long)]]
    {
        assert_eq!(traced(&server, "/mutate", headers, "{}").await, 200);
    }
    let spans = collector.received(3).await;
    for span in &spans[..2] {
        assert!(
            span.parent_span_id.is_empty() && hex(&span.trace_id) != TRACE && hex(&span.trace_id).len() == 32,
            "{span:?}"
        );
    }
    assert_ne!(spans[0].trace_id, spans[1].trace_id);
    assert_eq!((hex(&spans[2].trace_id).as_str(), spans[2].trace_state.as_str()), (TRACE, ""), "too long to be kept");
}

#[tokio::test]
async fn failure_sets_span_status() {
    let decide = RequestHandler::from_fn(|request| match request.body() {
        b"bad" => Err(BadReview::NotJson { reason: "line 1".to_owned() }.into()),
        b"panic" => panic!("of a secret object"),
        b"deny" => Ok(Reply { outcome: Outcome::Deny, message: Some("no".to_owned()), ..echo_reply(request.body()) }),
        _ => {
            let message = Some(format!("a\nb{}", "x".repeat(5000)));
            Ok(Reply { outcome: Outcome::Fail, message, uid: "u\u{1b}".repeat(4000), ..echo_reply(request.body()) })
        }
    });
    let (collector, server) = collected(decide).await;
    for (body, code) in [("fail", 200), ("bad", 400), ("panic", 500), ("deny", 200)] {
        assert_eq!(traced(&server, "/convert", &[], body).await, code, "{body}");
    }
    let spans = collector.received(4).await;
    let status = |span: &Span| span.status.clone().map(|status| (status.code(), status.message)).unwrap_or_default();
    let (code, message) = status(&spans[0]);
    assert!(code == StatusCode::Error && message.starts_with("a\\nbxxx") && message.len() < 1100, "{message}");
    assert!(attribute(&spans[0], "pointsman.review.uid").len() < 1100);
    let (code, message) = status(&spans[1]);
    assert!(code == StatusCode::Error && message.contains("line 1"), "{message}");
    assert_eq!(attribute(&spans[1], "http.response.status_code"), "400");
    let (code, message) = status(&spans[2]);
    assert!(code == StatusCode::Error && !message.contains("secret"), "{message}");
    assert_eq!((status(&spans[3]).0, attribute(&spans[3], "pointsman.outcome").as_str()), (StatusCode::Unset, "deny"));
}

/// Whatever the collector does, responses are unaffected, and lost spans are counted.
#[tokio::test]
async fn failing_collector_costs_only_spans() {
    use Behaviour::{Babbles, Busy, Garbles, RefusesSome, Takes};
    for (behaviour, lost) in [(Takes, 0.0), (RefusesSome(2), 2.0), (Busy, 3.0), (Babbles, 3.0), (Garbles, 3.0)] {
        let collector = FakeCollector::start(behaviour).await;
        let server = TestServer::start(echo(), |options| options.collector = collector.address()).await;
        for _ in 0..3 {
            assert_eq!(traced(&server, "/convert", &[], "{}").await, 200);
        }
        collector.received(3).await;
        let counted = || server.metric("spans_lost_total{reason=\"collector\"}");
        eventually("the lost are counted", || async { counted().await.filter(|count| *count == lost) }).await;
        assert_eq!(server.metric("spans_lost_total{reason=\"queue\"}").await, Some(0.0));
        server.stop();
        server.ended().await.unwrap();
    }
}

#[tokio::test]
async fn missing_collector_costs_only_spans() {
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let collector = format!("http://{nobody}").parse().unwrap();
    let server = TestServer::start(echo(), |options| options.collector = Some(collector)).await;
    assert_eq!(traced(&server, "/convert", &[], "{}").await, 200);
    let counted = || server.metric("spans_lost_total{reason=\"collector\"}");
    eventually("the lost are counted", || async { counted().await.filter(|count| *count == 1.0) }).await;
}

/// The queue stays full while the collector hangs: it takes one batch in five seconds. A request that waited for space
/// in the queue would be as slow, and no span would ever be dropped.
#[tokio::test]
async fn hanging_collector_blocks_nothing() {
    let collector = FakeCollector::start(Behaviour::Hangs).await;
    let server = TestServer::start(echo(), |options| options.collector = collector.address()).await;
    let mut client = server.http2().await;
    assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    collector.received(1).await;
    let mut asked = 0;
    while server.metric("spans_lost_total{reason=\"queue\"}").await == Some(0.0) {
        assert!(asked < 4 * QUEUE, "of {asked} spans none found the queue full");
        for _ in 0..100 {
            assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
        }
        asked += 100;
    }
    assert!(asked > QUEUE, "{asked} were too many");
    drop(client);
    // All queued spans would take four calls of five seconds, and `ended` waits for ten.
    server.stop();
    server.ended().await.unwrap();
}

/// Capacity of the span queue (docs/reference.md).
const QUEUE: usize = 1024;

#[tokio::test]
async fn last_spans_are_sent_at_shutdown() {
    let (collector, server) = collected(echo()).await;
    assert_eq!(traced(&server, "/convert", &[], "{}").await, 200);
    server.stop();
    server.ended().await.unwrap();
    assert_eq!(collector.spans().len(), 1);
}
