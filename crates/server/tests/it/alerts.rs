//! The alert rules of `manifests/alerts.rules.yaml`, tested against metrics of provoked faults: a rule with a missing
//! or constant series never fires. If promtool is available, it evaluates the rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Enforcement, Metadata, Settings, Webhook};
use pointsman_server::{BodyLimits, DefinitionSource, Definitions, LogQueue, Options, RequestHandler, ServedWebhook};
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::certs::Authority;
use crate::support::client::{Dial, get};
use crate::support::eventually;
use crate::support::gate::{Gate, waiting};
use crate::support::promtool::{Fault, Page, Promtool};
use crate::support::server::TestServer;
use crate::support::victim::{Stuck, Victim};

fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests").canonicalize().unwrap()
}

fn file(name: &str) -> String {
    fs::read_to_string(manifests().join(name)).unwrap()
}

/// Every alert, and its expression.
fn alerts() -> Vec<(String, String)> {
    let rules = file("alerts.rules.yaml");
    let rules = rules.split("- alert: ").skip(1).map(|rule| {
        let expression = rule.lines().find_map(|line| line.trim().strip_prefix("expr: ")).unwrap();
        (rule.lines().next().unwrap().to_owned(), expression.trim_matches('\'').to_owned())
    });
    rules.collect()
}

/// The series in an expression: names of pointsman or of the process, with or without labels.
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

/// The samples of a series.
fn samples<'a>(page: &'a Page, series: &str) -> Vec<&'a str> {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let is_of = |line: &&str| {
        let sample = line.rsplit_once(' ').unwrap_or_default().0;
        let (found, rest) = sample.split_once('{').unwrap_or((sample, ""));
        found == name && rest.contains(labels.trim_end_matches('}'))
    };
    page.text.lines().filter(is_of).collect()
}

/// The value of a series' first sample.
fn value(page: &Page, series: &str) -> f64 {
    samples(page, series)[0].rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn webhook() -> Webhook {
    let settings = Settings { enforcement: Enforcement::Audit, ..Settings::default() };
    let mut kinds = Kind::embedded().unwrap();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kinds/elasticsearch");
    let read = |file: &str| fs::read_to_string(format!("{dir}/{file}"));
    let definition = read("elasticsearch.yaml").unwrap();
    kinds.push(Kind::load("elasticsearch.yaml", &definition, &mut |file| read(file)).unwrap());
    Webhook::new(kinds, Metadata::Identity).unwrap().admitting(settings)
}

/// Files with an error.
struct Broken(&'static str);

impl DefinitionSource for Broken {
    fn changed(&mut self, _: &Webhook) -> Result<Option<Webhook>, String> {
        Err(self.0.to_owned())
    }
}

/// A server with production decisions, except for one body that panics and one slow request.
fn decide() -> RequestHandler {
    let webhook = webhook();
    RequestHandler::from_fn(move |request| {
        assert_ne!(request.body(), b"panic");
        if request.body().windows(4).any(|word| word == b"slow") {
            thread::sleep(Duration::from_millis(10));
        }
        webhook.handle(request)
    })
}

async fn server(tune: impl FnOnce(&mut Options)) -> TestServer {
    TestServer::start(decide(), |options| {
        options.conversions = webhook().every_conversion();
        options.log_queue = Some(LogQueue::start(std::io::sink()).unwrap());
        tune(options);
    })
    .await
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

async fn page(server: &TestServer) -> Page {
    let text = server.admin("/metrics").await.text();
    Page { text, at: now() }
}

/// A fault that is visible as soon as a series of its alert has changed.
async fn provoked(server: &TestServer, alert: &'static str, before: Page) -> Fault {
    let (_, expression) = alerts().into_iter().find(|(name, _)| name == alert).unwrap();
    let moved = || async {
        let after = page(server).await;
        let moved = series(&expression).iter().any(|series| samples(&before, series) != samples(&after, series));
        moved.then_some(after)
    };
    let after = eventually(alert, moved).await;
    Fault { alert, before, after }
}

fn review(name: &str, note: usize, spec: &str) -> String {
    let note = "x".repeat(note);
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u",
        "desiredAPIVersion":"materialize.cloud/v1alpha2","objects":[{{"apiVersion":"materialize.cloud/v1alpha1",
        "kind":"Materialize","metadata":{{"name":"{name}","annotations":{{"note":"{note}"}}}},"spec":{spec}}}]}}}}"#
    )
}

async fn conversions() -> Vec<Fault> {
    let server = server(|_| {}).await;
    let mut client = server.http1().await;
    let mut faults = Vec::new();
    for (alert, times, body, status) in [
        ("PointsmanConversionsFail", 1, review("a", 0, "1"), 200),
        ("PointsmanConversionsSlow", 20, review("slow", 0, "{}"), 200),
        (
            "PointsmanObjectsTooLarge",
            1,
            review("a", 262_100, r#"{"requestRollout":"00000000-0000-0000-0000-000000000001"}"#),
            200,
        ),
        (
            "PointsmanObjectsNearlyTooLarge",
            1,
            review("a", 200_000, r#"{"requestRollout":"00000000-0000-0000-0000-000000000001"}"#),
            200,
        ),
        ("PointsmanPanics", 1, "panic".to_owned(), 500),
    ] {
        let before = page(&server).await;
        for _ in 0..times {
            assert_eq!(client.post("/convert", body.clone()).await.unwrap().status, status);
        }
        faults.push(provoked(&server, alert, before).await);
    }
    let failures = r#"pointsman_conversion_failures_total{from="v1alpha1",kind="materialize",to="v1alpha2"} 1"#;
    assert!(page(&server).await.text.contains(failures));
    faults
}

async fn verdicts() -> Fault {
    let server = server(|_| {}).await;
    let before = page(&server).await;
    let object = |version| {
        json!({
            "apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch",
            "metadata": {"name": "a", "namespace": "default"}, "spec": {"version": version},
        })
    };
    let kind = json!({"group": "elasticsearch.k8s.elastic.co", "version": "v1", "kind": "Elasticsearch"});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u", "kind": kind, "requestKind": kind, "name": "a", "namespace": "default", "operation": "UPDATE",
            "resource": {"group": "elasticsearch.k8s.elastic.co", "version": "v1", "resource": "elasticsearches"},
            "userInfo": {"username": "admin"}, "object": object("6.8.0"), "oldObject": object("8.0.0"),
        },
    });
    let answer = server.http1().await.post("/validate", review.to_string()).await.unwrap();
    assert!(answer.text().contains("\"allowed\":true"), "{}", answer.text());
    provoked(&server, "PointsmanVerdictsDisagree", before).await
}

async fn files() -> Vec<Fault> {
    let mut healthy = server(|_| {}).await;
    let before = page(&healthy).await;
    let hung = healthy.volume.hang();
    let looked = || async {
        let page = page(&healthy).await;
        let looked = value(&page, "pointsman_certificate_last_look_timestamp_seconds");
        (page.at - looked > 4.0).then_some(page)
    };
    let after = eventually("no reader is left", looked).await;
    let hangs = Fault { alert: "PointsmanCertificateNotRead", before: before.clone(), after };
    drop(hung);

    let soon = Authority::new().issue_as(|params| {
        params.not_after = (SystemTime::now() + Duration::from_secs(86_400)).into();
    });
    healthy.volume.swap(&soon);
    let expires = provoked(&healthy, "PointsmanCertificateExpires", before.clone()).await;
    healthy.volume.swap_files(&[]);
    let unusable = provoked(&healthy, "PointsmanCertificateUnusable", before.clone()).await;

    assert!(Dial::new(healthy.addr, &Authority::new()).handshake().await.is_err());
    let refused = provoked(&healthy, "PointsmanNotTrusted", before.clone()).await;

    let broken = server(|options| {
        options.definitions =
            Some(Definitions::new(ServedWebhook::new(webhook()), Broken("widgets.yaml:3: unknown key")));
    })
    .await;
    let definitions = provoked(&broken, "PointsmanDefinitionsUnusable", before).await;
    vec![hangs, expires, unusable, refused, definitions]
}

/// More bodies than fit into memory, with slow decisions.
async fn memory() -> Vec<Fault> {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(1 << 20);
        options.memory_budget = 9 << 20;
        options.log_queue = Some(LogQueue::start(std::io::sink()).unwrap());
    })
    .await;
    let before = page(&server).await;
    let mut deciding = Vec::new();
    for kib in [1000, 80, 80] {
        let mut client = server.http1().await;
        deciding.push(tokio::spawn(async move { client.post("/convert", waiting(kib)).await }));
        gate.entered(deciding.len()).await;
    }
    let short = provoked(&server, "PointsmanMemoryShort", before.clone()).await;
    let mut refused = tokio::task::JoinSet::new();
    for _ in 0..15 {
        let mut client = server.http1().await;
        refused.spawn(async move { client.post("/convert", waiting(600)).await.unwrap().refused(503) });
    }
    refused.join_all().await;
    vec![short, provoked(&server, "PointsmanOverloaded", before).await]
}

async fn connections() -> Vec<Fault> {
    let limited = server(|options| options.max_connections = 10).await;
    let before = page(&limited).await;
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(limited.dial().handshake().await.unwrap());
    }
    let open = || async {
        let page = page(&limited).await;
        page.text.contains("pointsman_webhook_connections 9\n").then_some(page)
    };
    let after = eventually("connections are short", open).await;
    let short = Fault { alert: "PointsmanConnectionsShort", before, after };

    // A process with a limit of 300 open files has 204 connections to the webhooks and 64 to the probes.
    let victim = Victim::start_with("neighbours::the_victim_of_the_attacks_serves", Some(300)).await;
    let scraped = || async { Page { text: get(victim.admin, "/metrics").await.unwrap().text(), at: now() } };
    let before = scraped().await;
    let mut held = Vec::new();
    for addr in [victim.addr; 204].into_iter().chain([victim.admin; 60]) {
        held.push(TcpStream::connect(addr).await.unwrap());
    }
    let open = || async {
        let page = scraped().await;
        // The number of other open files depends on inherited ones: only the rule's ratio is certain.
        let short = value(&page, "process_open_fds") / value(&page, "process_max_fds") > 0.9;
        short.then_some(page)
    };
    let after = eventually("descriptors are short", open).await;
    vec![short, Fault { alert: "PointsmanDescriptorsShort", before, after }]
}

async fn logs() -> Fault {
    use std::io::Write;

    let mut queue = LogQueue::start(Stuck).unwrap();
    let server = server(|options| options.log_queue = Some(queue.clone())).await;
    let before = page(&server).await;
    for _ in 0..2000 {
        queue.write_all(b"line\n").unwrap();
    }
    provoked(&server, "PointsmanLogsLost", before).await
}

#[test]
fn both_files_have_the_same_rules() {
    let plain = file("alerts.rules.yaml");
    let rules = plain.split_once("groups:").unwrap().1;
    let operator = file("alerts.yaml").split_once("  groups:").unwrap().1.replace("\n  ", "\n");
    assert_eq!(rules, operator);
}

#[tokio::test]
async fn alert_series_exist_from_start() {
    let page = page(&server(|_| {}).await).await;
    for (alert, expression) in alerts() {
        assert!(!series(&expression).is_empty(), "{alert}");
        for series in series(&expression) {
            assert!(!samples(&page, series).is_empty(), "{alert}: {series}");
        }
    }
}

/// Every alert is provoked: an alert without a fault is untested.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alerts_fire_only_at_faults() {
    let mut faults = [conversions().await, files().await, memory().await, connections().await].concat();
    faults.extend([verdicts().await, logs().await]);
    let provoked: BTreeSet<_> = faults.iter().map(|fault| fault.alert.to_owned()).collect();
    assert_eq!(provoked, alerts().into_iter().map(|(name, _)| name).collect());
    if let Some(promtool) = Promtool::find() {
        promtool.check(&manifests().join("alerts.rules.yaml"), &faults);
    }
}
