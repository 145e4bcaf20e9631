//! Probes, metrics and recent errors stay available, regardless of other clients on the port.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pointsman_core::webhook::{BadReview, Conversions, FailedObject, Outcome, Reply};
use pointsman_server::{DevPage, RequestHandler};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::support::certs::Authority;
use crate::support::client::Dial;
use crate::support::server::{TestServer, echo, echo_reply};

/// Silent clients, clients that stop within a head, idle clients after one request, and clients that do not read
/// responses.
#[tokio::test]
async fn probes_answer_under_load() {
    let server = TestServer::echo().await;
    let mut held = Vec::new();
    for sent in [
        "",
        "GET /livez HTTP/1.1\r\nHost:",
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /errors HTTP/1.1\r\nHost: a\r\n\r\n",
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

/// Takes ten seconds, the time limit of a request.
#[tokio::test]
async fn silent_admin_client_is_closed() {
    let server = TestServer::echo().await;
    let mut silent = TcpStream::connect(server.admin).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut [0; 1])).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
}

/// The page of a development server: present only on request, and only for the browser of the same machine.
#[tokio::test]
async fn dev_page_is_local_only() {
    let server = TestServer::echo().await;
    assert_eq!(server.admin("/dev").await.status, 404);
    let tried = |body: &[u8]| format!("{{\"bytes\":{}}}", body.len());
    let page = DevPage::new(("<!DOCTYPE html>", b"zipped"), || "[]".to_owned(), tried);
    let server = TestServer::start(echo(), |options| options.dev_page = Some(page)).await;
    let post = |host: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /dev/try HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let get = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let large = "x".repeat((2 << 20) + 1);
    for (request, status, answer) in [
        (get("/dev", "localhost:1"), 200, "<!DOCTYPE html>"),
        (get("/", "localhost"), 302, "location: /dev"),
        (get("/", "attacker.example"), 403, "localhost"),
        (get("/dev/editor.js", "localhost"), 200, "content-encoding: gzip"),
        (get("/dev/kinds", "127.0.0.1"), 200, "[]"),
        (get("/dev/kinds", "attacker.example"), 403, "localhost"),
        (get("/dev/try", "localhost"), 405, ""),
        (post("localhost", "application/json", "{}"), 200, "{\"bytes\":2}"),
        (post("attacker.example", "application/json", "{}"), 403, "localhost"),
        (post("localhost", "text/plain", "{}"), 415, "application/json"),
        (post("localhost", "application/json", &large), 413, "2 MiB"),
    ] {
        let mut stream = TcpStream::connect(server.admin).await.unwrap();
        let (mut reading, mut writing) = stream.split();
        let mut head = String::new();
        let answered = async {
            let mut bytes = vec![0; 4096];
            while !(head.contains("\r\n\r\n") && head.contains(answer)) {
                let read = reading.read(&mut bytes).await.unwrap();
                assert!(read > 0, "{head}");
                head.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        // An early refusal may leave the request unread.
        let (_, ()) = tokio::join!(writing.write_all(request.as_bytes()), answered);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(head.to_lowercase().contains("cache-control: no-store"), "{head}");
    }
    assert_eq!(server.admin("/dev/else").await.status, 404);
    assert_eq!(server.admin("/livez").await.status, 200);
}

/// Failures are listed without the request's contents. Responses, denials and requests of foreign clients are no
/// errors.
#[tokio::test]
async fn last_errors_contain_no_objects() {
    let decide = RequestHandler::from_fn(|request| match request.body() {
        b"bad" => Err(BadReview::NotJson { reason: "line 1".to_owned() }.into()),
        b"panic" => panic!("of a secret object"),
        b"deny" => {
            Ok(Reply { outcome: Outcome::Deny, message: Some("denied".to_owned()), ..echo_reply(request.body()) })
        }
        b"secret" => Ok(failed(request.body())),
        _ => Ok(echo_reply(request.body())),
    });
    let server = TestServer::start(decide, |options| options.body_limits.convert = 10).await;
    let errors = async || {
        let answer = server.admin("/errors").await;
        assert_eq!((answer.status, answer.headers["content-type"].to_str().unwrap()), (200, "application/json"));
        let text = answer.text();
        assert!(!text.contains("secret"), "{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
        document["errors"].as_array().unwrap().clone()
    };
    let mut client = server.http1().await;
    for body in ["allow", "deny"] {
        client.post("/validate", body).await.unwrap();
    }
    client.post("/nowhere", "x").await.unwrap();
    assert_eq!(errors().await, [Value::Null; 0]);
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for body in ["secret", "bad", "panic", "longer than it may be", "secret"] {
        client.post("/convert", body).await.unwrap();
    }
    let seen = errors().await;
    let said = |text: &str| seen.iter().find(|one| one["reason"].as_str().unwrap().contains(text));
    assert_eq!(seen.len(), 4, "{seen:?}");
    for text in ["line 1", "internal error", "larger than 10 bytes"] {
        assert_eq!(said(text).unwrap()["webhook"], "convert", "{text}");
    }
    let one = said("cannot convert").unwrap();
    let (first, last) = (one["first"].as_u64().unwrap(), one["last"].as_u64().unwrap());
    assert!(began <= first && first <= last && last < began + 60, "{one}");
    let wanted = json!({
        "webhook": "convert", "kind": "Widget", "from": "v1", "to": "v2", "object": "n/a", "path": "spec.size",
        "reason": "cannot convert\\n1", "times": 2, "first": first, "last": last,
    });
    assert_eq!(*one, wanted);
    // An API server with another authority.
    let stranger = Authority::new();
    assert!(Dial::new(server.addr, &stranger).connect().await.is_err());
    let heard =
        async || errors().await.iter().any(|one| one["reason"].as_str().unwrap().contains("check that its caBundle"));
    let began = Instant::now();
    while !heard().await {
        assert!(began.elapsed() < Duration::from_secs(20), "the change was not noticed");
        sleep(Duration::from_millis(20)).await;
    }
}

fn failed(body: &[u8]) -> Reply {
    let (kind, from, to) = (Arc::from("Widget"), Arc::from("v1"), Arc::from("v2"));
    let object = FailedObject { object: "n/a".to_owned(), kind: Arc::clone(&kind), path: "spec.size".to_owned() };
    Reply {
        outcome: Outcome::Fail,
        message: Some("cannot convert\n1".to_owned()),
        failed: Some(object),
        failures: vec![Conversions { kind, from, to, objects: 1 }],
        ..echo_reply(body)
    }
}

/// Two hundred requests fit into one packet, and answering costs a hundred times more than sending.
#[tokio::test]
async fn admin_connection_answers_two_hasty_requests() {
    let server = TestServer::echo().await;
    for path in ["/metrics", "/livez", "/errors"] {
        let mut plain = TcpStream::connect(server.admin).await.unwrap();
        let asked = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").repeat(200);
        plain.write_all(asked.as_bytes()).await.unwrap();
        plain.shutdown().await.unwrap();
        let mut read = Vec::new();
        let _ = plain.read_to_end(&mut read).await;
        let answered = String::from_utf8_lossy(&read).matches("HTTP/1.1 200 OK").count();
        assert_eq!(answered, 2, "{path}");
    }
}
