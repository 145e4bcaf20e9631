//! Responses to requests over HTTP/1.1 (Services) and HTTP/2 (loopback URLs).

use std::fs;
use std::path::Path;

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderName};
use hyper::{Method, Version};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{
    BadReview, ConversionWarning, Conversions, Endpoint, HandleError, Metadata, Outcome, Reply, Request, Webhook,
};
use pointsman_server::{BodyLimits, Decide, RequestHandler, ServedWebhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::client::Client;
use crate::support::eventually;
use crate::support::server::{TestServer, echo, echo_reply};

/// A connection of each kind.
async fn both(server: &TestServer) -> [Client; 2] {
    [server.http1().await, server.http2().await]
}

#[tokio::test]
async fn reviews_are_answered_over_both_protocols() {
    let server = TestServer::echo().await;
    for (client, version) in both(&server).await.iter_mut().zip([Version::HTTP_11, Version::HTTP_2]) {
        for path in ["/convert", "/mutate", "/validate", "/convert?timeout=30s", "/validate?timeout=nonsense&x=y"] {
            let answer = client.post(path, "{\"a\":1}\n").await.unwrap();
            assert_eq!((answer.status, answer.version), (200, version));
            assert_eq!(answer.text(), "{\"a\":1}\n");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.header("content-length"), Some("8"));
            assert_eq!(answer.header("connection"), None);
        }
    }
}

#[tokio::test]
async fn http1_and_tls12_work_without_alpn() {
    let server = TestServer::echo().await;
    for dial in [server.dial().without_alpn(), server.dial().tls12(), server.dial().tls12().http2()] {
        let answer = dial.connect().await.unwrap().post("/convert", "{}").await.unwrap();
        assert_eq!(answer.status, 200);
    }
    let mut client = server.dial().without_alpn().connect().await.unwrap();
    assert_eq!(client.post("/convert", "{}").await.unwrap().version, Version::HTTP_11);
}

#[tokio::test]
async fn paths_and_methods_are_exact() {
    let server = TestServer::echo().await;
    for mut client in both(&server).await {
        for path in ["/", "/convert/", "/Convert", "/convert/x", "/metrics"] {
            client.post(path, "{}").await.unwrap().refused(404);
        }
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let request = client.request(method, "/convert", "");
            let answer = client.send(request).await.unwrap();
            answer.refused(405);
            assert_eq!(answer.header("allow"), Some("POST"));
        }
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    }
    assert_eq!(server.metric("webhook_requests_total{code=\"404\",webhook=\"other\"}").await, Some(10.0));
    assert_eq!(server.metric("webhook_requests_total{code=\"405\",webhook=\"convert\"}").await, Some(6.0));
}

#[tokio::test]
async fn only_plain_json_is_taken() {
    let server = TestServer::echo().await;
    for mut client in both(&server).await {
        for (content_type, status) in [
            (Some("application/json; charset=utf-8"), 200),
            (Some("Application/JSON"), 200),
            (Some("application/yaml"), 415),
            (Some("application/jsonx"), 415),
            (None, 415),
        ] {
            let mut request = client.request(Method::POST, "/convert", "{}");
            request.headers_mut().remove(CONTENT_TYPE);
            if let Some(content_type) = content_type {
                request.headers_mut().insert(CONTENT_TYPE, content_type.parse().unwrap());
            }
            let answer = client.send(request).await.unwrap();
            assert_eq!(answer.status, status, "{content_type:?}");
            if status == 415 {
                answer.refused(415);
            }
        }
        let mut request = client.request(Method::POST, "/convert", "{}");
        request.headers_mut().insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        client.send(request).await.unwrap().refused(415);
    }
}

#[tokio::test]
async fn non_review_body_gets_400() {
    let decide = RequestHandler::from_fn(|_| Err(BadReview::NotJson { reason: "line 1".to_owned() }.into()));
    let server = TestServer::start(decide, |_| {}).await;
    for mut client in both(&server).await {
        let message = client.post("/convert", "}").await.unwrap().refused(400);
        assert!(message.contains("line 1"), "{message}");
    }
}

#[tokio::test]
async fn oversized_body_keeps_connection() {
    let limits = BodyLimits { admission: 100_000, convert: 300_000 };
    let server = TestServer::start(echo(), |options| options.body_limits = limits).await;
    for mut client in both(&server).await {
        for (path, limit) in [("/convert", 300_000), ("/mutate", 100_000), ("/validate", 100_000)] {
            assert_eq!(client.post(path, vec![b' '; limit]).await.unwrap().status, 200);
            let message = client.post(path, vec![b' '; limit + 1]).await.unwrap().refused(413);
            assert!(message.contains(&limit.to_string()), "{message}");
            assert_eq!(client.post_chunked(path, &vec![b' '; limit]).await.unwrap().body.len(), limit);
            client.post_chunked(path, &vec![b' '; limit + 1]).await.unwrap().refused(413);
            client.post_chunked(path, &vec![b' '; 20 * limit]).await.unwrap().refused(413);
            assert_eq!(client.post(path, "{}").await.unwrap().status, 200);
        }
    }
}

/// A reset would affect this client: it writes the whole request before reading.
#[tokio::test]
async fn clients_see_413_after_body() {
    let server = TestServer::start(echo(), |options| options.body_limits = BodyLimits::up_to(1000)).await;
    let mut stream = server.dial().handshake().await.unwrap();
    let body = vec![b' '; 3_000_000];
    let head = format!(
        "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    stream.write_all(b"GET /convert HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    let (first, second) = answers.split_once("HTTP/1.1 405").expect("the next request is served");
    assert!(first.starts_with("HTTP/1.1 413"), "{answers}");
    assert!(second.contains("allow: POST"), "{answers}");
}

#[tokio::test]
async fn expect_continue_is_refused_early() {
    let server = TestServer::start(echo(), |options| options.body_limits = BodyLimits::up_to(1000)).await;
    let mut stream = server.dial().handshake().await.unwrap();
    let head = "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n";
    stream.write_all(format!("{head}{EXPECT}: 100-continue\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn panic_is_one_500() {
    let decide = RequestHandler::from_fn(|request| {
        assert!(!request.body().starts_with(b"panic"), "secret of the object");
        Ok(echo_reply(request.body()))
    });
    let server = TestServer::start(decide, |_| {}).await;
    let mut large = b"panic".to_vec();
    large.resize(300 * 1024, b' ');
    for mut client in both(&server).await {
        for body in [b"panic".to_vec(), large.clone()] {
            let message = client.post("/mutate", body).await.unwrap().refused(500);
            assert!(!message.contains("secret"), "{message}");
            assert_eq!(client.post("/mutate", "{}").await.unwrap().status, 200);
        }
    }
    assert_eq!(server.metric("webhook_panics_total{webhook=\"mutate\"}").await, Some(4.0));
    assert_eq!(server.metric("webhook_requests_total{code=\"500\",webhook=\"mutate\"}").await, Some(4.0));
}

/// Decides nothing: the weight of every body that begins with `panic` panics.
struct WeightPanics;

impl Decide for WeightPanics {
    fn handle(&self, request: &Request<'_>) -> Result<Reply, HandleError> {
        Ok(echo_reply(request.body()))
    }

    fn weight(&self, _: Endpoint, body: &[u8]) -> u64 {
        assert!(!body.starts_with(b"panic"), "secret of the object");
        0
    }
}

#[tokio::test]
async fn panic_of_a_weight_is_one_500() {
    let server = TestServer::start(RequestHandler::new(WeightPanics), |_| {}).await;
    let mut large = b"panic".to_vec();
    large.resize(600 * 1024, b' ');
    for mut client in both(&server).await {
        for body in [b"panic".to_vec(), large.clone()] {
            let message = client.post("/mutate", body).await.unwrap().refused(500);
            assert!(!message.contains("secret"), "{message}");
            assert_eq!(client.post("/mutate", "{}").await.unwrap().status, 200);
        }
    }
    assert_eq!(server.metric("webhook_panics_total{webhook=\"mutate\"}").await, Some(4.0));
}

#[tokio::test]
async fn one_connection_carries_many_streams() {
    let server = TestServer::echo().await;
    let mut client = server.http2().await;
    // A client that has received the stream limit keeps to it.
    assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..200 {
        let mut stream = client.stream();
        requests.spawn(async move {
            let body = format!("{{\"number\":{number}}}");
            assert_eq!(stream.post("/convert", body.clone()).await.unwrap().text(), body);
        });
    }
    assert_eq!(requests.join_all().await.len(), 200);
    assert_eq!(server.metric("webhook_connections").await, Some(1.0));
}

#[tokio::test]
async fn decisions_are_counted() {
    let decide = RequestHandler::from_fn(|request| {
        Ok(Reply {
            outcome: Outcome::Convert,
            conversions: vec![Conversions { kind: "Fruit".into(), from: "v1".into(), to: "v2".into(), objects: 3 }],
            failures: vec![Conversions { kind: "Fruit".into(), from: "v2".into(), to: "v1".into(), objects: 2 }],
            notices: vec![ConversionWarning { event: "bruised", object: "ns/apple".to_owned() }],
            ..echo_reply(request.body())
        })
    });
    let pair =
        |from: &str, to: &str| Conversions { kind: "Fruit".into(), from: from.into(), to: to.into(), objects: 0 };
    let server =
        TestServer::start(decide, |options| options.conversions = vec![pair("v1", "v2"), pair("v2", "v1")]).await;
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
    for (series, value) in [
        ("conversion_failures_total{from=\"v1\",kind=\"Fruit\",to=\"v2\"}", 0.0),
        ("conversion_failures_total{from=\"v2\",kind=\"Fruit\",to=\"v1\"}", 2.0),
        ("conversion_failures_total{from=\"unknown\",kind=\"unknown\",to=\"unknown\"}", 0.0),
        ("webhook_decision_duration_seconds_count{webhook=\"convert\"}", 1.0),
        ("webhook_outcomes_total{outcome=\"fail\",webhook=\"convert\"}", 0.0),
        ("webhook_requests_total{code=\"503\",webhook=\"validate\"}", 0.0),
        ("webhook_connections_limit", 2048.0),
        ("webhook_requests_total{code=\"200\",webhook=\"convert\"}", 1.0),
        ("webhook_request_duration_seconds_count{webhook=\"convert\"}", 1.0),
        ("webhook_requests_in_flight{webhook=\"convert\"}", 0.0),
        ("webhook_outcomes_total{outcome=\"convert\",webhook=\"convert\"}", 1.0),
        ("webhook_panics_total{webhook=\"convert\"}", 0.0),
        ("conversions_total{from=\"v1\",kind=\"Fruit\",to=\"v2\"}", 3.0),
        ("conversion_notices_total{event=\"bruised\"}", 1.0),
        ("certificate_reloads_total{result=\"success\"}", 0.0),
        ("certificate_reloads_total{result=\"error\"}", 0.0),
        ("definition_reloads_total{result=\"success\"}", 0.0),
        ("definition_reloads_total{result=\"error\"}", 0.0),
        (concat!("build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1.0),
    ] {
        assert_eq!(server.metric(series).await, Some(value), "{series}");
    }
    let page = server.admin("/metrics").await.text();
    for name in ["open_fds", "max_fds", "resident_memory_bytes", "cpu_seconds_total", "start_time_seconds"] {
        assert!(page.contains(&format!("\nprocess_{name} ")), "{name}");
    }
    let stray =
        |line: &&str| !line.starts_with(['#', ' ']) && !line.starts_with("pointsman_") && !line.starts_with("process_");
    assert_eq!(page.lines().find(stray), None);
}

#[tokio::test]
async fn the_admin_port_answers_probes() {
    let server = TestServer::echo().await;
    eventually("it is ready", || async { (server.admin("/readyz").await.status == 200).then_some(()) }).await;
    assert_eq!(server.admin("/livez").await.text(), "ok\n");
    let report = server.admin("/readyz?verbose").await.text();
    assert!(report.contains("[+]started ok\n[+]shutdown ok\n"), "{report}");
    assert_eq!(server.admin("/").await.status, 404);
    let metrics = server.admin("/metrics").await;
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4"));
}

#[tokio::test]
async fn request_heads_are_limited() {
    let server = TestServer::echo().await;
    let headers = |count: usize| (0..count).map(|number| (format!("x-{number}"), "x".repeat(4000)));
    for (client, fields) in both(&server).await.iter_mut().zip([7, 3]) {
        let mut request = client.request(Method::POST, "/convert", "{}");
        for (name, value) in headers(fields) {
            request.headers_mut().insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        }
        assert_eq!(client.send(request).await.unwrap().status, 200);
    }
    for client in &mut both(&server).await {
        let mut request = client.request(Method::POST, "/convert", "{}");
        for (name, value) in headers(50) {
            request.headers_mut().insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        }
        let refused = client.send(request).await.map_or(true, |answer| answer.status == 431);
        assert!(refused, "200 KB");
    }
}

/// Earlier findings of all fuzz targets, as a body at each endpoint, over a real connection.
#[tokio::test]
async fn past_findings_break_no_connection() {
    let webhook = Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap();
    let decide = RequestHandler::new(ServedWebhook::new(webhook));
    let server = TestServer::start(decide, |_| {}).await;
    let mut client = server.http1().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let mut asked = 0;
    for door in ["bundle", "definition", "object", "review", "write"] {
        for file in fs::read_dir(folder.join(door)).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            let _ = pointsman_server::authority_remarks(&bytes);
            for path in ["/convert", "/mutate", "/validate"] {
                let answer = client.post(path, bytes.clone()).await.unwrap();
                assert!(matches!(answer.status, 200 | 400), "{door}: {}", answer.text());
                asked += 1;
            }
        }
    }
    assert!(asked > 50, "{asked}");
}
