//! Certificates: swapped without a failed call, and never for worse.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pointsman_server::{CertPaths, Options};
use tokio::task::JoinSet;

use crate::support::certs::{Authority, Pair};
use crate::support::eventually;
use crate::support::server::{TestServer, echo};
use crate::support::volume::Volume;

const ERRORS: &str = "certificate_reloads_total{result=\"error\"}";
const EXPIRY: &str = "certificate_expiry_timestamp_seconds";
const SUCCESSES: &str = "certificate_reloads_total{result=\"success\"}";

async fn serves(server: &TestServer, pair: &Pair) {
    eventually("the new certificate is served", || async {
        (server.http1().await.served == pair.der).then_some(())
    })
    .await;
}

/// As far apart as can be: only an event makes the server look.
fn events_only(options: &mut Options) {
    options.reload_interval = Duration::from_secs(3600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_swaps_fail_no_handshake_or_request() {
    let mut server =
        TestServer::start(echo(), |options| options.reload_interval = Duration::from_secs(10))
            .await;
    let handshakes = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(AtomicUsize::new(0));
    let swapped = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..4 {
        let dial = if number % 2 == 0 { server.dial() } else { server.dial().http2() };
        let (handshakes, requests, swapped) =
            (handshakes.clone(), requests.clone(), swapped.clone());
        clients.spawn(async move {
            let enough = || {
                swapped.load(Ordering::Relaxed)
                    && handshakes.load(Ordering::Relaxed) >= 200
                    && requests.load(Ordering::Relaxed) >= 2000
            };
            while !enough() {
                let mut client = dial.connect().await.unwrap();
                handshakes.fetch_add(1, Ordering::Relaxed);
                for _ in 0..10 {
                    assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200);
                    requests.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    // Open before the first swap, in use after the last.
    let mut old = server.http1().await;
    for _ in 0..50 {
        let pair = server.authority.issue();
        server.volume.swap(&pair);
        serves(&server, &pair).await;
    }
    swapped.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    assert_eq!(server.metric(SUCCESSES).await, Some(50.0));
    assert_eq!(old.post("/convert", "{}").await.unwrap().status, 200);
}

#[tokio::test]
async fn bad_certificates_keep_the_last_good_one() {
    let mut server = TestServer::echo().await;
    let (good, other) = (server.pair.clone(), server.authority.issue());
    let cut = |text: &str| text[..text.len() / 2].to_owned();
    let not_x509 = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let broken_chain = format!("{}{not_x509}", other.cert);
    for (what, files) in [
        ("mismatched", vec![("tls.crt", other.cert.clone()), ("tls.key", good.key.clone())]),
        (
            "truncated certificate",
            vec![("tls.crt", cut(&other.cert)), ("tls.key", other.key.clone())],
        ),
        ("truncated key", vec![("tls.crt", other.cert.clone()), ("tls.key", cut(&other.key))]),
        ("empty certificate", vec![("tls.crt", String::new()), ("tls.key", other.key.clone())]),
        ("no key", vec![("tls.crt", other.cert.clone()), ("tls.key", other.cert.clone())]),
        ("broken chain", vec![("tls.crt", broken_chain), ("tls.key", other.key.clone())]),
        ("missing key", vec![("tls.crt", other.cert.clone())]),
        ("missing both", vec![]),
    ] {
        let before = server.metric(ERRORS).await.unwrap();
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        server.volume.swap_files(&files);
        eventually(what, || async {
            (server.metric(ERRORS).await > Some(before + 1.0)).then_some(())
        })
        .await;
        let mut client = server.http1().await;
        assert_eq!(client.served, good.der, "{what}");
        assert_eq!(client.post("/convert", "{}").await.unwrap().status, 200, "{what}");
        assert_eq!(server.admin("/readyz").await.status, 200, "{what}");
    }
    assert_eq!(server.metric(SUCCESSES).await, Some(0.0));
    server.volume.swap(&other);
    serves(&server, &other).await;
}

#[tokio::test]
async fn file_events_alone_reload_certificates() {
    let mut server = TestServer::start(echo(), events_only).await;
    for _ in 0..3 {
        let pair = server.authority.issue();
        server.volume.swap(&pair);
        serves(&server, &pair).await;
    }
}

#[tokio::test]
async fn plain_files_are_followed_by_rewrite_and_rename() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let paths =
        CertPaths { cert: dir.path().join("server.pem"), key: dir.path().join("server.key") };
    let write = |pair: &Pair| {
        fs::write(&paths.cert, &pair.cert).unwrap();
        fs::write(&paths.key, &pair.key).unwrap();
    };
    write(&authority.issue());
    let mut server = TestServer::start(echo(), |options| {
        options.cert = paths.clone();
        events_only(options);
    })
    .await;
    server.authority = authority;

    let pair = server.authority.issue();
    write(&pair);
    serves(&server, &pair).await;

    let pair = server.authority.issue();
    for (path, text) in [(&paths.cert, &pair.cert), (&paths.key, &pair.key)] {
        fs::write(dir.path().join("new"), text).unwrap();
        fs::rename(dir.path().join("new"), path).unwrap();
    }
    serves(&server, &pair).await;
}

/// The watch was on the directory that is gone: this is what the poll is for.
#[tokio::test]
async fn replaced_directories_are_followed() {
    let server = TestServer::echo().await;
    let pair = server.authority.issue();
    let mut other = Volume::new(&pair);
    let aside = server.volume.path().with_extension("aside");
    fs::rename(server.volume.path(), &aside).unwrap();
    fs::rename(other.path(), server.volume.path()).unwrap();
    fs::rename(&aside, other.path()).unwrap();
    serves(&server, &pair).await;
    // The names are swapped now: this one is not ours any more.
    other.swap(&server.authority.issue());
    assert_eq!(server.http1().await.served, pair.der);
}

#[tokio::test]
async fn renewed_intermediates_are_reloaded() {
    let mut server = TestServer::echo().await;
    let chain = format!("{}{}", server.pair.cert, server.authority.pem);
    let key = server.pair.key.clone();
    server.volume.swap_files(&[("tls.crt", &chain), ("tls.key", &key)]);
    eventually("it is reloaded", || async {
        (server.metric(SUCCESSES).await == Some(1.0)).then_some(())
    })
    .await;
    let stream = server.dial().handshake().await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap().len(), 2);
}

#[tokio::test]
async fn expiry_metric_follows_the_served_certificate() {
    let mut server = TestServer::echo().await;
    assert_eq!(server.metric(EXPIRY).await, Some(4_070_908_800.0), "2099-01-01");
    let errors = server.metric(ERRORS).await.unwrap();
    let next = server.authority.issue_until(2050);
    server.volume.swap_files(&[("tls.crt", &next.cert)]);
    eventually("it is refused", || async {
        (server.metric(ERRORS).await > Some(errors)).then_some(())
    })
    .await;
    assert_eq!(server.metric(EXPIRY).await, Some(4_070_908_800.0));
    server.volume.swap(&next);
    eventually("2050-01-01", || async {
        (server.metric(EXPIRY).await == Some(2_524_608_000.0)).then_some(())
    })
    .await;
}
