//! The alert rules of `manifests/alerts.rules.yaml`, held against metrics of faults that are provoked: a rule whose
//! series does not exist, or does not move, wakes nobody.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};
use pointsman_server::{Decide, Definitions, DefinitionsFound, LogQueue};

use crate::support::certs::Authority;
use crate::support::client::Dial;
use crate::support::eventually;
use crate::support::server::TestServer;

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests").join(name)).unwrap()
}

/// The expression of an alert.
fn expression(alert: &str) -> String {
    let rules = file("alerts.rules.yaml");
    let rule = rules.split("- alert: ").find(|rule| rule.starts_with(&format!("{alert}\n"))).unwrap();
    let line = rule.lines().find_map(|line| line.trim().strip_prefix("expr: ")).unwrap();
    line.trim_matches('\'').to_owned()
}

/// The series that an expression is about: a name of ours or of the process, with or without labels.
fn series(expression: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for prefix in ["pointsman_", "process_"] {
        for (at, _) in expression.match_indices(prefix) {
            let rest = &expression[at..];
            let name = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let labels = if rest[name..].starts_with('{') { rest[name..].find('}').unwrap() + 1 } else { 0 };
            all.push(&rest[..name + labels]);
        }
    }
    all
}

/// The sum of the samples of a series. `None` where there is none.
fn sum(page: &str, series: &str) -> Option<f64> {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let samples = page.lines().filter_map(|line| {
        let (sample, value) = line.rsplit_once(' ')?;
        let (found, rest) = sample.split_once('{').unwrap_or((sample, ""));
        (found == name && rest.contains(labels.trim_end_matches('}'))).then(|| value.parse::<f64>().unwrap())
    });
    let samples: Vec<f64> = samples.collect();
    (!samples.is_empty()).then(|| samples.iter().sum())
}

fn webhook() -> Webhook {
    Webhook::new(Kind::embedded().unwrap(), Metadata::Identity).unwrap()
}

/// A server that decides as in production, but for one body, at which it panics.
async fn server() -> TestServer {
    let decide = |endpoint: Endpoint, body: &[u8]| {
        assert_ne!(body, b"panic");
        webhook().handle(endpoint, body)
    };
    TestServer::start(Decide::new(move |endpoint, body| decide(endpoint, &body)), |options| {
        options.conversions = webhook().every_conversion();
        options.log_queue = Some(LogQueue::start(std::io::sink()).unwrap());
        options.max_connections = 10;
        let reason = "widgets.yaml:3: unknown key".to_owned();
        options.definitions = Some(Definitions::new(move || DefinitionsFound::Refused { reason: reason.clone() }));
    })
    .await
}

async fn page(server: &TestServer) -> String {
    server.admin("/metrics").await.text()
}

/// Waits until the only series of an alert is above what it was.
async fn rises(server: &TestServer, alert: &str, before: &str) {
    let expression = expression(alert);
    let series = series(&expression);
    assert_eq!(series.len(), 1, "{expression}");
    assert!(expression.starts_with("increase(") || expression.starts_with("rate("), "{expression}");
    let before = sum(before, series[0]).unwrap();
    eventually(alert, || async { (sum(&page(server).await, series[0]) > Some(before)).then_some(()) }).await;
}

#[test]
fn both_files_have_the_same_rules() {
    let plain = file("alerts.rules.yaml");
    let rules = plain.split_once("groups:").unwrap().1;
    let operator = file("alerts.yaml").split_once("  groups:").unwrap().1.replace("\n  ", "\n");
    assert_eq!(rules, operator);
}

#[tokio::test]
async fn every_series_of_an_alert_is_there_from_the_start() {
    let server = server().await;
    let page = page(&server).await;
    let rules = file("alerts.rules.yaml");
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).map(|rule| rule.lines().next().unwrap()).collect();
    assert!(alerts.len() >= 11, "{alerts:?}");
    for alert in alerts {
        let expression = expression(alert);
        assert!(!series(&expression).is_empty(), "{alert}");
        for series in series(&expression) {
            assert!(sum(&page, series).is_some(), "{alert}: {series}");
        }
    }
}

#[tokio::test]
async fn faults_raise_the_counters_that_alerts_are_on() {
    let mut server = server().await;
    let before = page(&server).await;
    let mut client = server.http1().await;
    let object = r#"{"apiVersion":"materialize.cloud/v1alpha1","kind":"Materialize","metadata":{"name":"a"},"spec":1}"#;
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u",
        "desiredAPIVersion":"materialize.cloud/v1alpha2","objects":[{object}]}}}}"#
    );
    assert_eq!(client.post("/convert", review).await.unwrap().status, 200);
    rises(&server, "PointsmanConversionsFail", &before).await;
    let line = page(&server).await;
    let failures = r#"pointsman_conversion_failures_total{from="v1alpha1",kind="materialize",to="v1alpha2"} 1"#;
    assert!(line.contains(failures), "{line}");

    assert_eq!(client.post("/convert", "panic").await.unwrap().status, 500);
    rises(&server, "PointsmanPanics", &before).await;

    assert!(Dial::new(server.addr, &Authority::new()).handshake().await.is_err());
    rises(&server, "PointsmanNotTrusted", &before).await;

    server.volume.swap_files(&[]);
    rises(&server, "PointsmanCertificateUnusable", &before).await;

    rises(&server, "PointsmanDefinitionsUnusable", &before).await;
}

#[tokio::test]
async fn faults_move_the_gauges_that_alerts_are_on() {
    let server = server().await;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let expires = expression("PointsmanCertificateExpires");
    let left = |page: &str| sum(page, series(&expires)[0]).unwrap() - now();
    assert!(expires.ends_with("- time() < 7 * 86400") && left(&page(&server).await) > 7.0 * 86_400.0);
    let dir = tempfile::tempdir().unwrap();
    let soon = TestServer::start(crate::support::server::echo(), |options| {
        let pair = Authority::new().issue_as(|params| {
            params.not_after = (SystemTime::now() + Duration::from_secs(86_400)).into();
        });
        options.cert.cert = dir.path().join("tls.crt");
        options.cert.key = dir.path().join("tls.key");
        fs::write(&options.cert.cert, &pair.cert).unwrap();
        fs::write(&options.cert.key, &pair.key).unwrap();
    })
    .await;
    assert!(left(&page(&soon).await) < 7.0 * 86_400.0);

    let looked = expression("PointsmanCertificateNotLookedAt");
    let since = now() - sum(&page(&server).await, series(&looked)[0]).unwrap();
    assert!(looked.starts_with("time() - ") && looked.ends_with("> 120") && since < 120.0, "{since}");

    let connections = expression("PointsmanConnectionsShort");
    let part = |page: &str| {
        let [open, limit] = series(&connections)[..] else { panic!("{connections}") };
        sum(page, open).unwrap() / sum(page, limit).unwrap()
    };
    assert!(connections.ends_with("> 0.8") && part(&page(&server).await) < 0.8);
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(server.dial().handshake().await.unwrap());
    }
    eventually("connections are short", || async { (part(&page(&server).await) > 0.8).then_some(()) }).await;
}
