//! Lookups of a rollout outside the cluster, over real sockets, and the resulting messages.

pub(super) mod beside;
mod elsewhere;
mod fleet_watch;
mod pending_writes;

use std::net::TcpListener;
use std::time::Instant;

use kube::{Client, Config};
use pointsman_core::definition::Kind;
use pointsman_rollout::{
    HttpAddress, LookupResults, PlanInput, Rollout, RolloutStatus, answered_rollout, http_probes, shut_now,
    start_refusals,
};
use serde_json::json;

use super::http_prober::HttpProber;
use super::lookups::LookupCache;
use crate::cluster::Cluster;
use crate::web::tests::{Manner, SmallServer, answer, waited};

const CRD: &str = r#"{
    "kind": "CustomResourceDefinition", "metadata": {"name": "databases.example.com"},
    "spec": {"group": "example.com", "names": {"kind": "Database", "plural": "databases"}, "scope": "Namespaced", "versions": [
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties":
            {"status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}}}}}]}}"#;

/// A kind with these named checks, and a rollout of the kind.
fn rollout(list: &str, checks: &[(String, String)]) -> (Kind, Rollout) {
    let checks = checks.iter().map(|(name, check)| format!("  - {{name: {name}, {check}}}\n"));
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: databases.crd.yaml\nhealth: {{all: [{{field: status.ready, is: \
         true}}]}}\nchecks:\n  {list}:\n{}",
        checks.collect::<String>()
    );
    let kind = Kind::from_crd(&definition, CRD).unwrap();
    let spec = json!({"kind": "database", "from": "1.0.0", "to": "1.1.0", "waves": [{"name": "all"}]});
    let rollout = json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "u"}, "spec": spec});
    let rollout = answered_rollout(&rollout, &kind).unwrap();
    (kind, rollout)
}

/// The reasons why a rollout does not start, after all HTTP probes.
fn asked(rollout: &Rollout, prometheus: Option<&HttpAddress>) -> Vec<String> {
    let mut answers = LookupResults::default();
    waited(HttpProber::with(prometheus).probe(&http_probes(rollout, &RolloutStatus::default()), &mut answers));
    start_refusals(rollout, &[], &PlanInput { answers, ..PlanInput::default() })
}

fn metric(name: &str) -> (String, String) {
    // The query selects the response of the server.
    (name.to_owned(), format!("prometheus: {{query: \"{name}\", atMost: 0.1}}"))
}

fn vector(samples: &[&str]) -> Vec<u8> {
    let sample = |value: &&str| json!({"metric": {"job": "a"}, "value": [1_794_996_000.5, value]});
    let result: Vec<_> = samples.iter().map(sample).collect();
    answer(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
}

/// A Prometheus whose responses depend on the name of the query, with every kind of error.
fn prometheus() -> SmallServer {
    SmallServer::start(|path| match path.strip_prefix("/base/api/v1/query?query=").unwrap_or(path) {
        "fine" => Manner::Says(vector(&["0.1"])),
        "high" => Manner::Says(vector(&["0.25"])),
        "empty" => Manner::Says(vector(&[])),
        "several" => Manner::Says(vector(&["0", "0"])),
        "nan" => Manner::Says(vector(&["NaN"])),
        "garbage" => Manner::Says(b"\x00\x01\x02 no HTTP at all\r\n\r\n".to_vec()),
        "page" => Manner::Says(answer(200, "<html>welcome</html>")),
        "cut" => Manner::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"status\"".to_vec()),
        "error" => {
            let error = json!({"status": "error", "errorType": "bad_data", "error": "unknown function"});
            Manner::Says(answer(400, &error.to_string()))
        }
        "broken" => Manner::Says(answer(500, "0")),
        "redirect" => Manner::Says(b"HTTP/1.1 307 Go\r\nlocation: /landed\r\ncontent-length: 0\r\n\r\n".to_vec()),
        "closes" => Manner::Says(Vec::new()),
        "hangs" => Manner::Holds(Vec::new()),
        "stalls" => Manner::Holds(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{".to_vec()),
        "huge" => Manner::NeverEnds(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        _ => Manner::Says(answer(404, "")),
    })
}

#[test]
fn prometheus_result_is_number_or_closed() {
    let server = prometheus();
    let base: HttpAddress = server.url("/base").parse().unwrap();
    let said: Vec<(&str, String)> = [
        ("fine", ""),
        ("high", "high is 0.25, and must be at most 0.1"),
        ("empty", "the query has no sample"),
        ("several", "the query returns 2 samples instead of one: aggregate the samples with sum(…)"),
        ("nan", "Prometheus returned \"NaN\", which cannot be compared"),
        ("garbage", "BASE: invalid HTTP response: "),
        ("page", "the response is no JSON; check that this is the API of Prometheus"),
        ("cut", "BASE: the answer ends early: "),
        ("error", "Prometheus answers HTTP 400: bad_data: unknown function"),
        ("broken", "Prometheus answers HTTP 500"),
        ("redirect", "Prometheus answers HTTP 307: redirects are not followed: use the address of the target"),
        ("closes", "BASE: invalid HTTP response: "),
        ("hangs", "BASE: no answer within 5 s"),
        ("stalls", "BASE: no answer within 5 s"),
        ("huge", "BASE: the response has more than 1024 KiB, but must be one number"),
    ]
    .map(|(name, said)| (name, said.replace("BASE", &format!("Prometheus at {base}"))))
    .into();
    let checks: Vec<_> = said.iter().map(|(name, _)| metric(name)).collect();
    let (_, rollout) = rollout("start", &checks);
    let began = Instant::now();
    let told = asked(&rollout, Some(&base));
    assert!(began.elapsed().as_secs() < 9, "all are asked at once: {:?}", began.elapsed());
    assert_eq!(told.len(), said.len() - 1, "{told:#?}");
    for ((name, said), told) in said[1..].iter().zip(&told) {
        let head = if *name == "high" { format!("{name}: ") } else { format!("{name}: {name} cannot be read: ") };
        assert!(told.starts_with(&format!("{head}{said}")), "{name}: {told}");
    }
    let heads = server.heads();
    assert_eq!(heads.len(), said.len(), "each is asked once");
    assert!(!heads.iter().any(|head| head.contains("/landed")), "no redirect is followed");
}

#[test]
fn query_is_sent_unchanged() {
    let server = SmallServer::start(|_| Manner::Says(vector(&["0"])));
    let base: HttpAddress = server.url("").parse().unwrap();
    let query = "sum by (le) (rate(a{b=~'c|d+', e='100% é'}[5m])) > 0";
    let checks = [("a".to_owned(), format!("prometheus: {{query: \"{query}\", atLeast: 0}}"))];
    assert_eq!(asked(&rollout("start", &checks).1, Some(&base)), [""; 0]);
    let wanted = "GET /api/v1/query?query=sum%20by%20%28le%29%20%28rate%28a%7Bb%3D~%27c%7Cd%2B%27%2C%20e%3D%27100%25%20%C3%A9\
                  %27%7D%5B5m%5D%29%29%20%3E%200 HTTP/1.1\r\n";
    assert!(server.heads()[0].starts_with(wanted), "{:?}", server.heads());
}

#[test]
fn failed_probe_closes_gate() {
    let server = SmallServer::start(|path| match path {
        "/ok?token=secret" => Manner::Says(answer(204, "")),
        "/huge" => Manner::NeverEnds(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        "/redirect" => Manner::Says(b"HTTP/1.1 302 Go\r\nlocation: /ok\r\ncontent-length: 0\r\n\r\n".to_vec()),
        "/garbage" => Manner::Says(b"ok\r\n\r\n".to_vec()),
        "/hangs" => Manner::Holds(Vec::new()),
        _ => Manner::Says(answer(503, "")),
    });
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = |target: &str| match target {
        "/nobody" => format!("http://127.0.0.1:{nobody}/nobody"),
        target => server.url(target),
    };
    let said = [
        ("/redirect", "HTTP 302: redirects are not followed: use the address of the target"),
        ("/down?token=secret", "HTTP 503"),
        ("/garbage", "invalid HTTP response: "),
        ("/hangs", "no answer within 5 s"),
        ("/nobody", "unreachable: "),
    ];
    let targets = ["/ok?token=secret", "/huge"].into_iter().chain(said.iter().map(|(target, _)| *target));
    let checks: Vec<_> =
        targets.enumerate().map(|(at, target)| (format!("c{at}"), format!("http: \"{}\"", address(target)))).collect();
    let told = asked(&rollout("start", &checks).1, None);
    assert_eq!(told.len(), said.len(), "{told:#?}");
    for ((at, (target, said)), told) in said.iter().enumerate().zip(&told) {
        let shown = address(target).replace("?token=secret", "?…");
        let head = format!("c{}: {shown} does not answer with 2xx: {said}", at + 2);
        assert!(told.starts_with(&head) && !told.contains("secret"), "{head}: {told}");
    }
}

#[test]
fn missing_prometheus_names_flag() {
    let (_, rollout) = rollout("start", &[metric("fine")]);
    assert_eq!(
        asked(&rollout, None),
        ["fine: fine cannot be read: no Prometheus is configured: use --prometheus URL, or set POINTSMAN_PROMETHEUS"]
    );
}

/// Probes have the same interval as other lookups: each time before a rollout begins, then periodically.
#[test]
fn probes_are_cached_for_seconds() {
    let server = prometheus();
    let base: HttpAddress = server.url("/base").parse().unwrap();
    let (kind, rollout) = rollout("during", &[metric("empty"), metric("fine")]);
    let config = Config::new("http://127.0.0.1:9".parse().unwrap());
    let begun = RolloutStatus { started: Some("2026-11-18T10:00:00Z".to_owned()), ..RolloutStatus::default() };
    waited(async {
        let cluster = Cluster::new(Client::try_from(config).unwrap(), "http://127.0.0.1:9".to_owned());
        let mut looked_up = LookupCache::nothing(Some(&base));
        for (status, times) in
            [(&RolloutStatus::default(), 1), (&RolloutStatus::default(), 2), (&begun, 2), (&begun, 2)]
        {
            let answers = looked_up.answers(&cluster, &kind, &rollout, status).await.unwrap();
            assert_eq!(server.heads().len(), 2 * times);
            let facts = PlanInput { answers, ..PlanInput::default() };
            let shut = shut_now(&rollout, status, &facts).unwrap();
            assert!(shut.starts_with("empty: "), "{shut}");
        }
    });
}
