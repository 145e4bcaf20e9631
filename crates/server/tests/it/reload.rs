//! Certificates: swapped without a failed call, and never replaced by an invalid one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pointsman_server::{CertPaths, CertificateError, Options, RejectionReason, ServeError, Server};
use rcgen::{BasicConstraints, IsCa, SanType, date_time_ymd};
use tokio::sync::RwLock;
use tokio::task::JoinSet;

use crate::support::certs::{Authority, Pair};
use crate::support::eventually;
use crate::support::server::{TestServer, echo};
use crate::support::volume::Volume;

const ERRORS: &str = "certificate_reloads_total{result=\"error\"}";
const EXPIRY: &str = "certificate_expiry_timestamp_seconds";
const SUCCESSES: &str = "certificate_reloads_total{result=\"success\"}";

async fn serves(server: &TestServer, pair: &Pair) {
    eventually("the new certificate is served", || async { (server.http1().await.served == pair.der).then_some(()) })
        .await;
}

/// The longest poll interval: only a file event triggers a reload.
fn events_only(options: &mut Options) {
    options.reload_interval = Duration::from_secs(3600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_swaps_fail_no_request() {
    let mut server = TestServer::start(echo(), |options| options.reload_interval = Duration::from_secs(10)).await;
    let handshakes = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(AtomicUsize::new(0));
    let swapped = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..4 {
        let dial = if number % 2 == 0 { server.dial() } else { server.dial().http2() };
        let (handshakes, requests, swapped) = (handshakes.clone(), requests.clone(), swapped.clone());
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
    // Opened before the first swap, used after the last.
    let mut old = server.http1().await;
    let swaps = times("POINTSMAN_SWAPS", 50);
    for swap in 0..swaps {
        // Used from time to time, so that the connection is never closed as idle.
        if swap % 50 == 49 {
            assert_eq!(old.post("/convert", "{}").await.unwrap().status, 200);
        }
        let pair = server.authority.issue();
        server.volume.swap(&pair);
        serves(&server, &pair).await;
    }
    swapped.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    println!(
        "{swaps} swaps, {} handshakes and {} requests, 0 failed",
        handshakes.load(Ordering::Relaxed),
        requests.load(Ordering::Relaxed)
    );
    assert_eq!(server.metric(SUCCESSES).await, Some(f64::from(swaps)));
    assert_eq!(old.post("/convert", "{}").await.unwrap().status, 200);
}

/// Number of repetitions: few by default, or the value of the environment variable.
fn times(variable: &str, few: u32) -> u32 {
    std::env::var(variable).ok().map_or(few, |times| times.parse().unwrap())
}

/// Changes the issuing authority repeatedly under calls that trust a bundle. Returns the number of calls and of failed
/// calls.
async fn change_authorities(changes: u32, bundle_first: bool) -> (usize, usize) {
    let mut server = TestServer::echo().await;
    // Each call holds the lock throughout: after a write no call uses the old bundle.
    let bundle = Arc::new(RwLock::new(vec![server.authority.der.clone()]));
    let [calls, failed] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..2 {
        let (dial, bundle, calls, failed) = (server.dial(), bundle.clone(), calls.clone(), failed.clone());
        callers.spawn(async move {
            loop {
                let trusted = bundle.read().await;
                let dial = dial.clone().trusting(&trusted);
                let answer = match dial.connect().await {
                    Ok(mut client) => client.post("/convert", "{}").await.map_err(std::io::Error::other),
                    Err(error) => Err(error),
                };
                calls.fetch_add(1, Ordering::Relaxed);
                failed.fetch_add(usize::from(!answer.is_ok_and(|answer| answer.status == 200)), Ordering::Relaxed);
            }
        });
    }
    for _ in 0..changes {
        let next = Authority::new();
        let pair = next.issue();
        if bundle_first {
            bundle.write().await.push(next.der.clone());
        }
        server.volume.swap(&pair);
        let dial = server.dial().trusting(&[server.authority.der.clone(), next.der.clone()]);
        let served = || async { (dial.connect().await.ok()?.served == pair.der).then_some(()) };
        eventually("the new chain is served", served).await;
        // A few calls with the current bundle.
        let before = calls.load(Ordering::Relaxed);
        eventually("calls", || async { (calls.load(Ordering::Relaxed) > before + 4).then_some(()) }).await;
        *bundle.write().await = vec![next.der.clone()];
        server.authority = next;
    }
    callers.shutdown().await;
    (calls.load(Ordering::Relaxed), failed.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorities_rotate_without_failed_call() {
    let changes = times("POINTSMAN_AUTHORITY_CHANGES", 5);
    let (calls, failed) = change_authorities(changes, true).await;
    println!("{changes} changes of the authority, the bundle first: {failed} of {calls} calls failed");
    assert_eq!(failed, 0);
    // The naive order, which proves that these calls can fail.
    let (calls, failed) = change_authorities(changes, false).await;
    println!("{changes} changes of the authority, the bundle last: {failed} of {calls} calls failed");
    assert!(failed > 0);
}

#[tokio::test]
async fn bad_certificate_keeps_last_good() {
    let mut server = TestServer::echo().await;
    let (good, other) = (server.pair.clone(), server.authority.issue());
    let cut = |text: &str| text[..text.len() / 2].to_owned();
    let not_x509 = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let broken_chain = format!("{}{not_x509}", other.cert);
    // The chain fits into the file limit, but not into a handshake.
    let long_chain = format!("{}{}", other.cert, server.authority.pem.repeat(300));
    for (what, files) in [
        ("mismatched", vec![("tls.crt", other.cert.clone()), ("tls.key", good.key.clone())]),
        ("truncated certificate", vec![("tls.crt", cut(&other.cert)), ("tls.key", other.key.clone())]),
        ("truncated key", vec![("tls.crt", other.cert.clone()), ("tls.key", cut(&other.key))]),
        ("empty certificate", vec![("tls.crt", String::new()), ("tls.key", other.key.clone())]),
        ("no key", vec![("tls.crt", other.cert.clone()), ("tls.key", other.cert.clone())]),
        ("broken chain", vec![("tls.crt", broken_chain), ("tls.key", other.key.clone())]),
        ("long chain", vec![("tls.crt", long_chain), ("tls.key", other.key.clone())]),
        ("missing key", vec![("tls.crt", other.cert.clone())]),
        ("missing both", vec![]),
    ] {
        let before = server.metric(ERRORS).await.unwrap();
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        server.volume.swap_files(&files);
        eventually(what, || async { (server.metric(ERRORS).await > Some(before + 1.0)).then_some(()) }).await;
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
async fn plain_files_are_followed() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let paths = CertPaths { cert: dir.path().join("server.pem"), key: dir.path().join("server.key") };
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

/// The watch was on the deleted directory: the poll detects the new one.
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
    // The names are swapped: this pair now belongs to the other directory.
    other.swap(&server.authority.issue());
    assert_eq!(server.http1().await.served, pair.der);
}

#[tokio::test]
async fn renewed_intermediates_are_reloaded() {
    let mut server = TestServer::echo().await;
    let chain = format!("{}{}", server.pair.cert, server.authority.pem);
    let key = server.pair.key.clone();
    server.volume.swap_files(&[("tls.crt", &chain), ("tls.key", &key)]);
    eventually("it is reloaded", || async { (server.metric(SUCCESSES).await == Some(1.0)).then_some(()) }).await;
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
    eventually("it is refused", || async { (server.metric(ERRORS).await > Some(errors)).then_some(()) }).await;
    assert_eq!(server.metric(EXPIRY).await, Some(4_070_908_800.0));
    server.volume.swap(&next);
    eventually("2050-01-01", || async { (server.metric(EXPIRY).await == Some(2_524_608_000.0)).then_some(()) }).await;
}

const LAST_LOOK: &str = "certificate_last_look_timestamp_seconds";

#[tokio::test]
async fn unusable_certificate_is_not_served() {
    let mut server = TestServer::echo().await;
    let authority = Authority::new();
    let good = server.pair.clone();
    for (what, pair) in [
        ("expired", authority.issue_until(2000)),
        ("not valid yet", authority.issue_as(|leaf| leaf.not_before = date_time_ymd(2098, 1, 1))),
        ("for clients", authority.issue_client()),
        ("nameless", authority.issue_as(|leaf| leaf.subject_alt_names.clear())),
        ("an authority", authority.issue_as(|leaf| leaf.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))),
        (
            "another runner's",
            authority.issue_as(|leaf| {
                leaf.subject_alt_names = vec![SanType::DnsName("other".try_into().unwrap())];
            }),
        ),
    ] {
        refuses(&mut server, what, &[("tls.crt", &pair.cert), ("tls.key", &pair.key)]).await;
        assert_eq!(server.http1().await.served, good.der, "{what}");
    }
    let next = server.authority.issue_as(|leaf| {
        leaf.subject_alt_names.push(SanType::DnsName("another".try_into().unwrap()));
    });
    server.volume.swap(&next);
    serves(&server, &next).await;
}

/// Swaps and waits until the server has read and refused the pair.
async fn refuses(server: &mut TestServer, what: &str, files: &[(&str, &str)]) {
    let before = server.metric(ERRORS).await.unwrap();
    server.volume.swap_files(files);
    eventually(what, || async { (server.metric(ERRORS).await > Some(before + 1.0)).then_some(()) }).await;
}

#[tokio::test]
async fn non_certificate_files_are_ignored() {
    let mut server = TestServer::echo().await;
    let pair = server.authority.issue();
    let large = format!("{}{}", pair.cert, "#".repeat(1 << 20));
    refuses(&mut server, "a large file", &[("tls.crt", &large), ("tls.key", &pair.key)]).await;
    let encrypted = pair.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    refuses(&mut server, "encrypted", &[("tls.crt", &pair.cert), ("tls.key", &encrypted)]).await;

    // Opening a pipe blocks until another process writes to the pipe.
    let before = server.metric(ERRORS).await.unwrap();
    let pipe = server.volume.file("..data/tls.crt");
    fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    eventually("a pipe is refused, again and again", || async {
        (server.metric(ERRORS).await > Some(before + 3.0)).then_some(())
    })
    .await;
    assert!(server.metric(LAST_LOOK).await > Some(1_700_000_000.0));
    server.volume.swap(&pair);
    serves(&server, &pair).await;
}

#[tokio::test]
async fn hanging_mount_blocks_nothing() {
    let mut server = TestServer::echo().await;
    let errors = server.metric(ERRORS).await.unwrap();
    let hung = server.volume.hang();
    let looked = server.metric(LAST_LOOK).await.unwrap();
    eventually("it is noticed", || async { (server.metric(ERRORS).await > Some(errors)).then_some(()) }).await;
    assert_eq!(server.http1().await.post("/convert", "{}").await.unwrap().status, 200);
    assert!(server.metric(LAST_LOOK).await.unwrap() <= looked + 1.0, "it was looked at");
    drop(hung);
    let pair = server.authority.issue();
    server.volume.swap(&pair);
    serves(&server, &pair).await;
}

#[tokio::test]
async fn bad_certificate_at_start_is_fatal() {
    let authority = Authority::new();
    let bind = |pair: Pair| async move {
        let volume = Volume::new(&pair);
        let any = "127.0.0.1:0".parse().unwrap();
        Server::bind(Options::new(any, any, volume.cert_paths()), echo()).await.map(drop)
    };
    bind(authority.issue_until(2000)).await.unwrap();
    let error = bind(authority.issue_client()).await.unwrap_err();
    let ServeError::Pair { source: CertificateError::Unfit { reason, .. } } = error else { panic!("{error:?}") };
    assert_eq!(reason, RejectionReason::NotForServers);
}

/// An operator reads one line, which must name the file to fix.
#[tokio::test]
async fn pair_error_names_its_cause() {
    let authority = Authority::new();
    let pair = authority.issue();
    let error = |cert: &str, key: &str| {
        let mut volume = Volume::new(&pair);
        volume.swap_files(&[("tls.crt", cert), ("tls.key", key)]);
        let any = "127.0.0.1:0".parse().unwrap();
        async move {
            let error = Server::bind(Options::new(any, any, volume.cert_paths()), echo()).await.map(drop).unwrap_err();
            let ServeError::Pair { source } = error else { panic!("{error:?}") };
            source
        }
    };
    let encrypted = pair.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let older = pair.key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1);
    for key in [encrypted, older] {
        let error = error(&pair.cert, &key).await;
        assert!(matches!(error, CertificateError::EncryptedKey { .. }), "{error:?}");
    }
    let none = error(&pair.cert, &pair.cert).await;
    assert!(matches!(none, CertificateError::NoKey { .. }), "{none:?}");
    let chain = format!("{}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pair.cert);
    let broken = error(&chain, &pair.key).await;
    assert!(matches!(broken, CertificateError::Certificate { position: 2, .. }), "{broken:?}");
}

#[tokio::test]
async fn key_may_use_another_directory() {
    let mut server = TestServer::echo().await;
    let (pair, keys) = (server.authority.issue(), tempfile::tempdir().unwrap());
    fs::write(keys.path().join("server.key"), &pair.key).unwrap();
    server.volume.swap_files(&[("tls.crt", &pair.cert)]);
    let paths = CertPaths { key: keys.path().join("server.key"), ..server.volume.cert_paths() };
    let other = TestServer::start(echo(), |options| options.cert = paths).await;
    let dial = other.dial().trusting(std::slice::from_ref(&server.authority.der));
    assert_eq!(dial.connect().await.unwrap().served, pair.der);
}

/// Files that a kubelet removes during the read are no error: newer files exist.
#[tokio::test]
async fn swap_with_removal_is_followed() {
    let mut server = TestServer::echo().await;
    let pair = server.authority.issue();
    let before = server.metric(ERRORS).await;
    let mut hung = server.volume.hang();
    // A read has started and waits for the previous certificate.
    hung.asked().await;
    server.volume.swap(&pair);
    drop(hung);
    serves(&server, &pair).await;
    assert_eq!(server.metric(ERRORS).await, before);
}

/// The poll finds the new directory; afterwards file events work again.
#[tokio::test]
async fn replaced_directory_is_watched_again() {
    let interval = Duration::from_secs(6);
    let mut server = TestServer::start(echo(), |options| options.reload_interval = interval).await;
    let first = server.authority.issue();
    let (path, aside) = (server.volume.path().to_owned(), tempfile::tempdir().unwrap());
    fs::rename(&path, aside.path().join("old")).unwrap();
    fs::create_dir(&path).unwrap();
    server.volume.swap(&first);
    serves(&server, &first).await;
    let begun = Instant::now();
    for _ in 0..3 {
        let pair = server.authority.issue();
        server.volume.swap(&pair);
        serves(&server, &pair).await;
    }
    assert!(begun.elapsed() < interval, "only polled: {:?}", begun.elapsed());
}
