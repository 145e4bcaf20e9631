//! External checks of a rollout: numbers from Prometheus, and HTTP probes.

use pointsman_rollout::{
    LookupResults, PlanInput, ProbeKind, ProbeResult, Rollout, RolloutPhase, RolloutStatus, http_probes,
    rollout_lookups, shut_now, start_refusals,
};
use serde_json::{Value, json};

use crate::kinds::define;
use crate::patches::database;
use crate::starts::{at, checked, planned, rollout_of};

const ERRORS: &str = "{name: errors, prometheus: {query: \"sum(\\n  rate(es_5xx[5m])\\n)\", atMost: 0.1}}";
const APP: &str = "{name: app, http: \"https://app.example.com/ok?token=secret\"}";

/// The response to an HTTP probe.
type Answer = Result<ProbeResult, String>;

fn heard(rollout: &Rollout, status: &RolloutStatus, answer: impl Fn(&ProbeKind) -> Answer) -> PlanInput {
    let mut answers = LookupResults::default();
    for lookup in http_probes(rollout, status) {
        answers.record_response(&lookup, answer(&lookup.kind));
    }
    PlanInput { consistent: true, answers, ..PlanInput::default() }
}

fn says(code: u16, body: &str) -> Answer {
    Ok(ProbeResult { code, body: body.as_bytes().to_vec() })
}

/// A successful Prometheus response.
fn success(kind: &str, result: &Value) -> Answer {
    says(200, &json!({"status": "success", "data": {"resultType": kind, "result": result}}).to_string())
}

fn number(text: &str) -> Answer {
    success("vector", &json!([{"metric": {}, "value": [1_794_996_000.123, text]}]))
}

#[test]
fn metric_is_compared_with_bounds() {
    for (bounds, number_of, said) in [
        ("atMost: 0.1", "0.1", None),
        ("atMost: 0.1", "-3", None),
        ("atMost: 0.1", "0.10000000000000002", Some("is 0.10000000000000002, and must be at most 0.1")),
        ("atMost: 3", "1e+300", Some("is 1e300, and must be at most 3")),
        ("atLeast: 2", "2", None),
        ("atLeast: 2", "1.999", Some("is 1.999, and must be at least 2")),
        ("atLeast: 1, atMost: 2", "1.5", None),
        ("atLeast: 1, atMost: 2", "0", Some("is 0, and must be at least 1")),
        ("atLeast: 1, atMost: 2", "2.5", Some("is 2.5, and must be at most 2")),
        ("atLeast: 0.5", "1e-9", Some("is 1e-9, and must be at least 0.5")),
    ] {
        let check = format!("{{name: errors, prometheus: {{query: up, {bounds}}}}}");
        let rollout = rollout_of(&checked(&format!("{{start: [{check}]}}"), "").unwrap(), &json!({}));
        let facts = heard(&rollout, &RolloutStatus::default(), |_| number(number_of));
        let said: Vec<String> = said.map(|said| format!("errors: up {said}")).into_iter().collect();
        assert_eq!(start_refusals(&rollout, &[], &facts), said, "{bounds}: {number_of}");
    }
}

/// A response without a usable number.
#[test]
fn unusable_metric_closes_gate() {
    let warned = json!({
        "status": "success", "warnings": ["no answer from store a"],
        "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "0"]}]},
    });
    let error = json!({"status": "error", "errorType": "bad_data", "error": "1:5: parse error\nand more"}).to_string();
    let sample = || json!({"metric": {}, "value": [1, "0"]});
    let not_it = "check that this is the API of Prometheus";
    for (answer, said) in [
        (success("vector", &json!([])), "the query has no sample".to_owned()),
        (
            success("vector", &json!([sample(), sample(), sample()])),
            "the query returns 3 samples instead of one: aggregate the samples with sum(…)".to_owned(),
        ),
        (number("NaN"), "Prometheus returned \"NaN\", which cannot be compared".to_owned()),
        (number("+Inf"), "Prometheus returned \"+Inf\", which cannot be compared".to_owned()),
        (number("-Inf"), "Prometheus returned \"-Inf\", which cannot be compared".to_owned()),
        (number(""), "Prometheus returned \"\", which cannot be compared".to_owned()),
        (number("1e400"), "Prometheus returned \"1e400\", which cannot be compared".to_owned()),
        (
            success("vector", &json!([{"metric": {}, "histogram": [1, {"count": "1"}]}])),
            "the query returns a histogram instead of a number".to_owned(),
        ),
        (success("matrix", &json!([])), "the query returns a matrix instead of a number".to_owned()),
        (success("string", &json!([1, "0"])), "the query returns a string instead of a number".to_owned()),
        (success("vector", &json!({})), format!("the response has no result; {not_it}")),
        (success("vector", &json!([{"value": [1, 0]}])), format!("the response has an invalid number; {not_it}")),
        (success("scalar", &json!([1])), format!("the response has no result; {not_it}")),
        (says(200, "{\"status\": \"success\"}"), format!("the response has no result; {not_it}")),
        (says(200, "<html>all is well</html>"), format!("the response is no JSON; {not_it}")),
        (says(200, ""), format!("the response is no JSON; {not_it}")),
        (says(204, ""), format!("the response is no JSON; {not_it}")),
        (says(200, "0"), format!("the response has no `status: success`; {not_it}")),
        (says(200, &error), "Prometheus returned bad_data: 1:5: parse error and more".to_owned()),
        (says(400, &error), "Prometheus answers HTTP 400: bad_data: 1:5: parse error and more".to_owned()),
        (says(503, "Service Unavailable"), "Prometheus answers HTTP 503".to_owned()),
        // The HTTP status decides; the body of an error is ignored.
        (Ok(ProbeResult { code: 500, ..number("0").unwrap() }), "Prometheus answers HTTP 500".to_owned()),
        (
            says(302, ""),
            "Prometheus answers HTTP 302: redirects are not followed: use the address of the target".to_owned(),
        ),
        (says(200, &warned.to_string()), "Prometheus warns: \"no answer from store a\"".to_owned()),
        (Err("no answer within 5 s".to_owned()), "no answer within 5 s".to_owned()),
    ] {
        let rollout =
            rollout_of(&checked(&format!("{{start: [{ERRORS}], during: [{ERRORS}]}}"), "").unwrap(), &json!({}));
        let facts = heard(&rollout, &RolloutStatus::default(), |_| answer.clone());
        let said = format!("errors: sum( rate(es_5xx[5m]) ) cannot be read: {said}");
        assert_eq!(start_refusals(&rollout, &[], &facts), std::slice::from_ref(&said));
        let refused = planned(&rollout, &RolloutStatus::default(), &[at("1.16.4")], facts.clone());
        assert_eq!((refused.status.phase, refused.status.message), (RolloutPhase::Refused, said.clone()));
        // The same applies while the rollout runs.
        let begun = RolloutStatus { started: Some("2026-11-18T10:00:00Z".to_owned()), ..RolloutStatus::default() };
        let waits = planned(&rollout, &begun, &[at("1.16.4")], facts);
        assert!(waits.status.in_flight.is_empty(), "{:?}", waits.status);
        assert_eq!(waits.status.message, format!("all 0/1, {said}"));
    }
    // A plain number instead of a vector.
    let rollout = rollout_of(&checked(&format!("{{start: [{ERRORS}]}}"), "").unwrap(), &json!({}));
    let facts = heard(&rollout, &RolloutStatus::default(), |_| success("scalar", &json!([1, "0.05"])));
    assert_eq!(start_refusals(&rollout, &[], &facts), [""; 0]);
}

#[test]
fn start_needs_passing_probes() {
    let rollout = rollout_of(&checked(&format!("{{start: [crd, {ERRORS}, {APP}]}}"), "").unwrap(), &json!({}));
    let asked: Vec<ProbeKind> =
        http_probes(&rollout, &RolloutStatus::default()).into_iter().map(|lookup| lookup.kind).collect();
    let address = "https://app.example.com/ok?token=secret".parse().unwrap();
    assert_eq!(asked, [ProbeKind::Number("sum(\n  rate(es_5xx[5m])\n)".to_owned()), ProbeKind::Page(address)]);
    assert!(rollout_lookups(&rollout, &RolloutStatus::default()).is_empty());
    let head = "app: https://app.example.com/ok?… does not answer with 2xx:";
    for (page, said) in [
        (says(200, "all is not well, and nobody reads that"), None),
        (says(204, ""), None),
        (says(299, ""), None),
        (says(199, ""), Some("HTTP 199")),
        (says(301, ""), Some("HTTP 301: redirects are not followed: use the address of the target")),
        (says(404, ""), Some("HTTP 404")),
        (says(500, ""), Some("HTTP 500")),
        (Err("no answer within 5 s".to_owned()), Some("no answer within 5 s")),
    ] {
        let facts = |page: &Answer| {
            let mut facts = heard(&rollout, &RolloutStatus::default(), |asks| match asks {
                ProbeKind::Number(_) => number("0"),
                ProbeKind::Page(_) => page.clone(),
            });
            facts.answers.crd_lacks(Ok(Vec::new()));
            facts
        };
        let begun = planned(&rollout, &RolloutStatus::default(), &[at("1.16.4")], facts(&page)).status;
        match said {
            None => assert_eq!((begun.phase, begun.in_flight.len()), (RolloutPhase::Rolling, 1)),
            Some(said) => {
                assert_eq!((begun.phase, begun.message), (RolloutPhase::Refused, format!("{head} {said}")));
                assert!(begun.in_flight.is_empty() && begun.started.is_none());
            }
        }
    }
    let nobody = start_refusals(&rollout, &[], &PlanInput::default());
    assert_eq!(
        nobody[1..],
        [
            "errors: Prometheus was not queried yet for sum( rate(es_5xx[5m]) )".to_owned(),
            "app: https://app.example.com/ok?… was not read yet".to_owned(),
        ]
    );
}

#[test]
fn failing_probe_stops_forward_moves() {
    let rollout = rollout_of(&checked(&format!("{{during: [{ERRORS}, {APP}]}}"), "").unwrap(), &json!({}));
    let facts = |rollout: &Rollout, status: &RolloutStatus, errors: &'static str, code: u16| {
        heard(rollout, status, |asks| match asks {
            ProbeKind::Number(_) => number(errors),
            ProbeKind::Page(_) => says(code, ""),
        })
    };
    let fresh = RolloutStatus::default();
    let waits = planned(&rollout, &fresh, &[at("1.16.4")], facts(&rollout, &fresh, "0.3", 200)).status;
    assert!(waits.in_flight.is_empty() && waits.started.is_some(), "{waits:?}");
    assert_eq!((waits.phase, waits.reason.as_deref()), (RolloutPhase::Waiting, Some("PreconditionsNotMet")));
    assert_eq!(waits.message, "all 0/1, errors: sum( rate(es_5xx[5m]) ) is 0.3, and must be at most 0.1");
    let still = planned(&rollout, &waits, &[at("1.16.4")], facts(&rollout, &waits, "0.03", 503)).status;
    assert!(still.in_flight.is_empty(), "{still:?}");
    assert_eq!(still.message, "all 0/1, app: https://app.example.com/ok?… does not answer with 2xx: HTTP 503");
    let unasked = PlanInput { consistent: true, ..PlanInput::default() };
    assert!(planned(&rollout, &waits, &[at("1.16.4")], unasked).status.in_flight.is_empty(), "no check was evaluated");
    let fine = facts(&rollout, &waits, "0.03", 200);
    assert_eq!(planned(&rollout, &waits, &[at("1.16.4")], fine.clone()).status.in_flight.len(), 1);
    // The plan lists closed gates before the start.
    assert_eq!(shut_now(&rollout, &fresh, &fine), None);
    let shut = shut_now(&rollout, &fresh, &facts(&rollout, &fresh, "0.3", 503)).unwrap();
    assert!(shut.starts_with("errors: "), "{shut}");
    let dead = PlanInput { closed_gate: Some("controller 1.17.1 does not run".to_owned()), ..fine };
    assert_eq!(shut_now(&rollout, &fresh, &dead).as_deref(), Some("controller 1.17.1 does not run"));
    // An undo runs no probes, and therefore needs no results.
    let mark =
        json!({"rollout": "rollout-1", "was": "1.16.4", "to": "1.17.1", "at": "2026-11-18T10:00:00Z"}).to_string();
    let labels = json!({"example.com/controller-version": "1.17.1"});
    let moved = database(json!({"labels": labels, "annotations": {"pointsman.dev/rollout": mark}}));
    let kind = checked(&format!("{{during: [{ERRORS}, {APP}]}}"), "").unwrap();
    let back = rollout_of(&kind, &json!({"direction": "Undo"}));
    assert!(http_probes(&back, &waits).is_empty());
    let goes = planned(&back, &waits, &[moved], facts(&rollout, &fresh, "0.3", 503)).status;
    assert_eq!(goes.in_flight.len(), 1, "{goes:?}");
    assert_eq!(shut_now(&back, &waits, &PlanInput::default()), None);
}

/// A name is unique within each list, and a result of the start check does not affect the during check.
#[test]
fn start_and_during_checks_are_separate() {
    let strict = ERRORS.replace("0.1", "0.01");
    let rollout = rollout_of(&checked(&format!("{{start: [{strict}], during: [{ERRORS}]}}"), "").unwrap(), &json!({}));
    assert_eq!(http_probes(&rollout, &RolloutStatus::default()).len(), 2);
    let facts = heard(&rollout, &RolloutStatus::default(), |_| number("0.05"));
    assert_eq!(start_refusals(&rollout, &[], &facts).len(), 1);
    assert_eq!(shut_now(&rollout, &RolloutStatus::default(), &facts), None);
    let begun = RolloutStatus { started: Some("2026-11-18T10:00:00Z".to_owned()), ..RolloutStatus::default() };
    assert_eq!(http_probes(&rollout, &begun).len(), 1);
}

#[test]
fn impossible_check_names_its_line() {
    let bounded = |prometheus: &str| format!("{{name: a, prometheus: {prometheus}}}");
    let page = |address: &str| format!("{{name: a, http: \"{address}\"}}");
    for (check, said) in [
        (bounded("{query: up}"), "a: prometheus: needs `atLeast`, `atMost` or both: otherwise the check could never"),
        (bounded("{query: \" \", atMost: 1}"), "a: prometheus: the query is empty"),
        (
            bounded("{query: up, atLeast: 2, atMost: 1.5}"),
            "a: prometheus: atLeast 2 is more than atMost 1.5, so the check could never pass",
        ),
        (bounded("{query: up, atMost:}"), "expected a number, found no value"),
        (bounded("{query: up, atLeast: 0, atMost: null}"), "expected a number, found no value"),
        (bounded("{query: up, atMost: \"1\"}"), "expected a number, found a string"),
        (bounded("{query: up, max: 1}"), "unknown key \"max\". Known names: query, atLeast, atMost"),
        (bounded("{atMost: 1}"), "the key \"query\" is missing"),
        (bounded("up"), "expected a map, found a string"),
        ("{name: A, prometheus: {query: up, atMost: 1}}".to_owned(), "\"A\" is no name"),
        ("{prometheus: {query: up, atMost: 1}}".to_owned(), "the key \"name\" is missing"),
        ("{name: B, http: \"http://a\"}".to_owned(), "\"B\" is no name"),
        (page("https://amy:secret@a/ok"), "a: http: an address must not contain a user or a password"),
        (page("http://amy@a/ok"), "a: http: an address must not contain a user or a password"),
        (page("ftp://amy:secret@a"), "a: http: an address must begin with http:// or https://"),
        (page("http://amy:secret/@a"), "a: http: the port of the address is not between 1 and 65535"),
        (bounded("\"http://amy:secret@prom:9090\""), "expected a map, found a string"),
        (page("http://a/b c"), "a: http: the address contains an invalid character"),
        (page("http://a/#secret"), "a: http: the address contains an invalid character"),
        (page(""), "a: http: an address must begin with http:// or https://"),
        ("{name: a, htpp: \"http://amy:secret@a\"}".to_owned(), "unknown key \"htpp\", did you mean \"http\"?"),
        ("{name: a, http: {secret: 1}}".to_owned(), "expected a string, found a map"),
        ("{name: a, http: \"http://a\", where: a}".to_owned(), "unknown key \"where\". Known names: name, http"),
        (
            "{name: a, http: \"http://a\", list: b.c, every: {condition: A}}".to_owned(),
            "a: http and list are two checks: give each its own name",
        ),
        ("{name: a}".to_owned(), "has no check: add one of list, prometheus, http"),
        ("crd2".to_owned(), "checks."),
    ] {
        for list in ["start", "during"] {
            let definition = format!("checks:\n  {list}:\n  - {{name: fine, http: \"http://a\"}}\n  - {check}\n");
            let bad = define(&definition).map(|_| ()).expect_err(&check).to_string();
            assert!(bad.starts_with(&format!("definition:7: checks.{list}: ")), "{check}: {bad}");
            assert!(bad.contains(said) && !bad.contains("secret"), "{check}: {bad}");
        }
    }
    // The error repeats an unknown word of `start`, but never an address.
    let bad = define("checks: {start: [\"http://amy:secret@a/ok\"]}\n").map(|_| ()).unwrap_err().to_string();
    assert!(bad.contains("an address belongs under `http`") && !bad.contains("secret"), "{bad}");
    // YAML has numbers that are not a number.
    for number in [".nan", ".inf", "-.inf"] {
        let check = bounded(&format!("{{query: up, atMost: {number}}}"));
        let bad = define(&format!("checks:\n  start:\n  - {check}\n")).map(|_| ()).unwrap_err().to_string();
        assert!(bad.contains("non-finite"), "{bad}");
    }
    let twice = format!("checks: {{during: [{ERRORS}, {}]}}\n", page("http://a").replace("name: a", "name: errors"));
    let bad = define(&twice).map(|_| ()).unwrap_err().to_string();
    assert!(bad.contains("checks.during: two checks have the name \"errors\""), "{bad}");
    define(&format!("checks: {{start: [{ERRORS}, {APP}], during: [{APP}, {ERRORS}]}}\n")).unwrap();
}
