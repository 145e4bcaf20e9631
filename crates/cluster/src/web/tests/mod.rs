//! The client, against small servers on real sockets.

mod small_server;

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use pointsman_rollout::{HttpAddress, ProbeResult};
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

pub(crate) use self::small_server::{Manner, SmallServer, answer, waited};
use super::web_client::{BodyWanted, WebClient};

fn get(client: &WebClient, address: &str, wanted: BodyWanted) -> Result<ProbeResult, String> {
    let address: HttpAddress = address.parse().unwrap();
    waited(client.get(&address, wanted))
}

#[test]
fn a_question_is_one_plain_get() {
    let server = SmallServer::start(|_| Manner::Says(answer(200, "{}")));
    let client = WebClient::default();
    let told = get(&client, &server.url("/a/b?c=%20d"), BodyWanted::All).unwrap();
    assert_eq!((told.code, told.body.as_slice()), (200, &b"{}"[..]));
    let heads = server.heads();
    assert_eq!(heads.len(), 1, "{heads:?}");
    let head = heads[0].to_lowercase();
    assert!(head.starts_with("get /a/b?c=%20d http/1.1\r\n"), "{head}");
    for line in [format!("host: 127.0.0.1:{}", server.port), "accept: application/json".to_owned()] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    for never in ["authorization", "cookie", "accept-encoding"] {
        assert!(!head.contains(never), "{head}");
    }
}

/// If only the status is needed, the body is not read, for any length or duration.
#[test]
fn unneeded_body_is_not_read() {
    let server = SmallServer::start(|path| match path {
        "/huge" => Manner::NeverEnds(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        _ => Manner::Holds(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n".to_vec()),
    });
    let (client, began) = (WebClient::default(), Instant::now());
    for path in ["/huge", "/hangs"] {
        let told = get(&client, &server.url(path), BodyWanted::Nothing).unwrap();
        assert_eq!((told.code, told.body.len()), (200, 0), "{path}");
    }
    assert!(began.elapsed().as_secs() < 3);
}

#[test]
fn refused_connection_is_reported() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let why = get(&WebClient::default(), &format!("http://127.0.0.1:{port}/"), BodyWanted::All).unwrap_err();
    assert!(why.starts_with("unreachable: ") && why.contains("refused"), "{why}");
}

/// Over TLS, the certificate must match the host and have a trusted issuer.
#[test]
fn tls_needs_trusted_certificate() {
    let own = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (served, other) = (own(), own());
    let port = serve_tls(&served);
    let trusting = |key: &rcgen::CertifiedKey<rcgen::KeyPair>| {
        let mut roots = RootCertStore::empty();
        roots.add(key.cert.der().clone()).unwrap();
        WebClient::trusting(roots)
    };
    let told = get(&trusting(&served), &format!("https://localhost:{port}/"), BodyWanted::All).unwrap();
    assert_eq!(told.code, 204);
    let stranger = get(&trusting(&other), &format!("https://localhost:{port}/"), BodyWanted::All).unwrap_err();
    assert!(stranger.starts_with("TLS: invalid peer certificate"), "{stranger}");
    let elsewhere = get(&trusting(&served), &format!("https://127.0.0.1:{port}/"), BodyWanted::All).unwrap_err();
    assert!(elsewhere.starts_with("TLS: invalid peer certificate: "), "{elsewhere}");
    // This port does not use TLS.
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://localhost:{}/", plain.local_addr().unwrap().port());
    thread::spawn(move || plain.accept().unwrap().0.write_all(&answer(400, "")).unwrap());
    let why = get(&trusting(&served), &address, BodyWanted::All).unwrap_err();
    assert!(why.starts_with("TLS: "), "{why}");
}

/// Responds with 204 to every client that completes the handshake.
fn serve_tls(key: &rcgen::CertifiedKey<rcgen::KeyPair>) -> u16 {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let secret = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], secret)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            // A client that does not trust the certificate closes the connection, so errors are ignored.
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").and_then(|()| stream.flush());
        }
    });
    port
}
