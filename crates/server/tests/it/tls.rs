//! Accepted and rejected TLS clients, and the certificates served.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pointsman_server::{CertPaths, CertificateError, Options, RequestHandler, ServeError, Server};

use rcgen::{DistinguishedName, DnType, ExtendedKeyUsagePurpose, date_time_ymd};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::certs::{Authority, Pair};
use crate::support::client::Dial;
use crate::support::eventually;
use crate::support::server::{TestServer, echo};
use crate::support::volume::Volume;

#[tokio::test]
async fn client_certificates_are_required_for_admission() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("client-ca.crt");
    fs::write(&ca, &ours.pem).unwrap();
    let server = TestServer::start(echo(), |options| options.client_ca_file = Some(ca.clone())).await;

    for mut anonymous in [server.http1().await, server.http2().await] {
        assert_eq!(anonymous.post("/convert", "{}").await.unwrap().status, 200);
        for path in ["/mutate", "/validate"] {
            let message = anonymous.post(path, "{}").await.unwrap().refused(401);
            assert!(message.contains("client certificate"), "{message}");
        }
    }
    let known = ours.issue_client();
    let mut client = server.dial().with(known.clone()).connect().await.unwrap();
    for path in ["/convert", "/mutate", "/validate"] {
        assert_eq!(client.post(path, "{}").await.unwrap().status, 200);
    }

    // A certificate of another authority fails the handshake. In TLS 1.3 the client receives the failure late.
    let stranger = theirs.issue_client();
    let refused = |pair: Pair| {
        let dial = server.dial().with(pair);
        async move {
            match dial.connect().await {
                Ok(mut client) => client.post("/convert", "{}").await.is_err(),
                Err(_) => true,
            }
        }
    };
    assert!(refused(stranger.clone()).await);

    // The authorities change: the next handshake uses the new ones.
    fs::write(&ca, &theirs.pem).unwrap();
    eventually("the new authority is trusted", || async { (!refused(stranger.clone()).await).then_some(()) }).await;
    assert!(refused(known).await);
}

#[tokio::test]
async fn only_allowed_client_names_connect() {
    let clients = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("client-ca.crt");
    fs::write(&ca, &clients.pem).unwrap();
    let server = TestServer::start(echo(), |options| {
        options.client_ca_file = Some(ca);
        options.client_names = vec!["kube-apiserver".to_owned(), "other".to_owned()];
    })
    .await;
    let named = |name: &str| {
        clients.issue_as(|client| {
            client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            client.distinguished_name = DistinguishedName::new();
            client.distinguished_name.push(DnType::CommonName, name);
        })
    };
    let mut known = server.dial().with(named("kube-apiserver")).connect().await.unwrap();
    assert_eq!(known.post("/validate", "{}").await.unwrap().status, 200);
    let mut stranger = server.dial().with(named("kubelet")).connect().await.unwrap();
    let message = stranger.post("/validate", "{}").await.unwrap().refused(403);
    assert!(message.contains("--client-allowed-names"), "{message}");
    assert_eq!(stranger.post("/convert", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn new_authorities_reverify_clients() {
    let (old, new) = (Authority::new(), Authority::new());
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("client-ca.crt");
    fs::write(&ca, &old.pem).unwrap();
    let server = TestServer::start(echo(), |options| options.client_ca_file = Some(ca.clone())).await;
    let dial = server.dial().with(old.issue_client());
    for dial in [dial.clone(), dial.http2()] {
        fs::write(&ca, &old.pem).unwrap();
        let mut client = eventually("it is let in", || async {
            let mut client = dial.connect().await.ok()?;
            (client.post("/validate", "{}").await.ok()?.status == 200).then_some(client)
        })
        .await;
        fs::write(&ca, &new.pem).unwrap();
        let begun = Instant::now();
        let answer = loop {
            let answer = client.post("/validate", "{}").await.unwrap();
            if answer.status != 200 {
                break answer;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "it is still let in");
        };
        assert_eq!(answer.header("retry-after"), Some("1"));
        answer.refused(503);
        // The connection ends afterwards.
        tokio::time::sleep(Duration::from_millis(50)).await;
        client.post("/convert", "{}").await.unwrap_err();
    }
}

/// A long chain is refused before any of its signatures is verified, although its leaf alone would be accepted.
#[tokio::test]
async fn long_client_chains_are_refused() {
    let clients = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("client-ca.crt");
    fs::write(&ca, &clients.pem).unwrap();
    let server = TestServer::start(echo(), |options| options.client_ca_file = Some(ca)).await;
    let dial = server.dial().with(clients.issue_client());
    for (more, is_taken) in [(0, true), (3, true), (4, false), (30, false)] {
        let dial = dial.clone().chained(vec![Authority::new().der; more]);
        let answer = match dial.connect().await {
            Ok(mut client) => client.post("/validate", "{}").await.ok(),
            Err(_) => None,
        };
        assert_eq!(answer.map(|answer| answer.status), is_taken.then_some(200), "{more}");
    }
}

#[tokio::test]
async fn connection_ends_with_its_client_certificate() {
    let clients = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("client-ca.crt");
    fs::write(&ca, &clients.pem).unwrap();
    let server = TestServer::start(echo(), |options| options.client_ca_file = Some(ca)).await;
    for is_http2 in [false, true] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let short = clients.issue_as(|client| {
            client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            client.not_after = date_time_ymd(1970, 1, 1) + now + Duration::from_secs(3);
        });
        let dial = server.dial().with(short);
        let mut client = if is_http2 { dial.http2() } else { dial }.connect().await.unwrap();
        assert_eq!(client.post("/validate", "{}").await.unwrap().status, 200);
        eventually("the connection ends", || async {
            (server.metric("webhook_connections").await == Some(0.0)).then_some(())
        })
        .await;
        client.post("/validate", "{}").await.unwrap_err();
    }
}

#[tokio::test]
async fn client_certificates_are_optional_without_ca() {
    let server = TestServer::echo().await;
    assert_eq!(server.http1().await.post("/validate", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn bad_certificate_at_start_is_fatal() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(), authority.issue());
    let mut volume = Volume::new(&one);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let bind =
        |paths: CertPaths| Server::bind(Options::new(addr, addr, paths), RequestHandler::from_fn(|_| panic!("unused")));

    // With a valid pair, the address causes the error: so the pair precedes the address below.
    let error = bind(volume.cert_paths()).await.unwrap_err();
    assert!(matches!(error, ServeError::Bind { .. }), "{error:?}");

    volume.swap_files(&[("tls.crt", &one.cert), ("tls.key", &other.key)]);
    let error = bind(volume.cert_paths()).await.unwrap_err();
    let ServeError::Pair { source: CertificateError::Mismatch { cert, key } } = error else { panic!("{error:?}") };
    assert_eq!((cert, key), (volume.file("tls.crt"), volume.file("tls.key")));

    volume.swap_files(&[]);
    let error = bind(volume.cert_paths()).await.unwrap_err();
    let ServeError::Pair { source: CertificateError::Read { path, .. } } = error else { panic!("{error:?}") };
    assert_eq!(path, volume.file("tls.crt"));
}

/// `[::]` is every address of a host, with IPv6 or without.
#[tokio::test]
async fn every_address_includes_ipv4() {
    let every = "[::]:0".parse().unwrap();
    let mut server = TestServer::start(echo(), |options| {
        options.listen = every;
        options.admin_listen = every;
    })
    .await;
    server.addr = ([127, 0, 0, 1], server.addr.port()).into();
    server.admin = ([127, 0, 0, 1], server.admin.port()).into();
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
    assert_eq!(server.admin("/livez").await.status, 200);
}

/// A mismatch of authorities justifies an alert, a connecting probe does not.
#[tokio::test]
async fn failed_handshakes_are_counted_by_reason() {
    let server = TestServer::start(echo(), |_| {}).await;
    assert!(Dial::new(server.addr, &Authority::new()).handshake().await.is_err());
    drop(TcpStream::connect(server.addr).await.unwrap());
    let mut stranger = TcpStream::connect(server.addr).await.unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    for (reason, count) in [("refused_by_client", 1.0), ("closed", 1.0), ("malformed", 1.0), ("timeout", 0.0)] {
        let series = format!("tls_handshake_failures_total{{reason=\"{reason}\"}}");
        eventually(&series, || async { (server.metric(&series).await == Some(count)).then_some(()) }).await;
    }
}
