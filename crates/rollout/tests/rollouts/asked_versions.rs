//! Checks contain the versions of the rollout, and no version value changes the target of a lookup.

use pointsman_core::definition::Kind;
use pointsman_core::laws::Random;
use pointsman_rollout::HttpAddress;
use pointsman_rollout::{
    LookupResults, LookupTarget, PlanInput, ProbeKind, ProbeResult, Rollout, RolloutPhase, RolloutStatus,
    answered_rollout, http_probes, rollout_lookups, shut_now, start_refusals,
};
use serde_json::{Value, json};

use crate::kinds::define;
use crate::starts::{at, checked, fleet, planned, rollout_of};

/// Checks that each application supports the new version, that the image exists, and the health of both versions.
const SUPPORTED: &str = "{name: supported, list: apps.example.com, where: \"tier=app, of in ({from}, {to})\", every: {all: \
                         [{field: 'metadata.annotations[\"example.com/max\"]', atLeast: \"{to}\"}, {field: \
                         'metadata.annotations[\"example.com/left-out\"]', notIn: [\"{to}\", \"not-{from}\"]}]}}";
const IMAGE: &str = "{name: image, http: \"http://registry:9001/v2/database/manifests/v{to}?was={from}\"}";
const RESTARTS: &str =
    "{name: restarts, prometheus: {query: 'sum(restarts{version=\"{to}\", image=~\".*:{to}\"})', atMost: 0}}";

fn asked(rollout: &Rollout, status: &RolloutStatus) -> Vec<ProbeKind> {
    http_probes(rollout, status).into_iter().map(|lookup| lookup.kind).collect()
}

fn page(text: &str) -> ProbeKind {
    ProbeKind::Page(text.parse().unwrap())
}

#[test]
fn checks_contain_rollout_versions() {
    let kind = checked(&format!("{{start: [{SUPPORTED}, {IMAGE}], during: [{RESTARTS}]}}"), "").unwrap();
    let image = page("http://registry:9001/v2/database/manifests/v1.17.1?was=1.16.4");
    let restarts = "sum(restarts{version=\"1.17.1\", image=~\".*:1\\\\.17\\\\.1\"})";
    let fresh = RolloutStatus::default();
    // The versions are the same in both directions.
    for direction in ["Forward", "Undo"] {
        let rollout = rollout_of(&kind, &json!({"direction": direction}));
        assert_eq!(asked(&rollout, &fresh)[0], image);
        let [lookup] = &rollout_lookups(&rollout, &fresh)[..] else { panic!("one list is asked for") };
        assert_eq!(lookup.wanted, LookupTarget::Labelled("tier=app,of in (1.16.4,1.17.1)".to_owned()));
    }
    let rollout = rollout_of(&kind, &json!({}));
    assert_eq!(asked(&rollout, &fresh)[1..], [ProbeKind::Number(restarts.to_owned())]);
    let nobody = start_refusals(&rollout, &[], &PlanInput::default());
    assert_eq!(nobody[1], "image: http://registry:9001/v2/database/manifests/v1.17.1?… was not read yet");
    assert_eq!(
        shut_now(&rollout, &fresh, &PlanInput::default()).unwrap(),
        format!("restarts: Prometheus was not queried yet for {restarts}")
    );
    let next = rollout_of(&kind, &json!({"from": "1.17.1", "to": "1.18.1"}));
    assert_eq!(asked(&next, &fresh)[0], page("http://registry:9001/v2/database/manifests/v1.18.1?was=1.17.1"));
}

/// Checks the observed objects before anything is moved.
#[test]
fn start_waits_for_expected_version() {
    let kind = checked(&format!("{{start: [{SUPPORTED}, {IMAGE}]}}"), "").unwrap();
    let app = |max: &str, left_out: &str| {
        let annotations = json!({"example.com/max": max, "example.com/left-out": left_out});
        json!({"metadata": {"namespace": "n", "name": "a", "annotations": annotations}})
    };
    let (annotation, head) = ("metadata.annotations[\"example.com/", "supported: apps.example.com n/a: ");
    for (app, code, to, said) in [
        (app("1.17.1", "1.18.1"), 200, "1.17.1", None),
        (app("1.18.1", ""), 200, "1.18.1", None),
        (
            app("1.16.9", ""),
            200,
            "1.17.1",
            Some(format!("{head}{annotation}max\"] is \"1.16.9\", and must be at least \"1.17.1\"")),
        ),
        (
            app("1.17.9", ""),
            200,
            "1.18.1",
            Some(format!("{head}{annotation}max\"] is \"1.17.9\", and must be at least \"1.18.1\"")),
        ),
        (
            app("1.20", "1.17.1"),
            200,
            "1.17.1",
            Some(format!(
                "{head}{annotation}left-out\"] is \"1.17.1\", and must be none of \"1.17.1\", \"not-1.16.4\""
            )),
        ),
        (
            app("1.20", ""),
            404,
            "1.17.1",
            Some(
                "image: http://registry:9001/v2/database/manifests/v1.17.1?… does not answer with 2xx: HTTP 404"
                    .to_owned(),
            ),
        ),
    ] {
        let from = if to == "1.17.1" { "1.16.4" } else { "1.17.1" };
        let rollout = rollout_of(&kind, &json!({"from": from, "to": to}));
        let mut answers = LookupResults::default();
        for lookup in rollout_lookups(&rollout, &RolloutStatus::default()) {
            answers.saw(&lookup, std::slice::from_ref(&app));
        }
        for lookup in http_probes(&rollout, &RolloutStatus::default()) {
            answers.record_response(&lookup, Ok(ProbeResult { code, body: Vec::new() }));
        }
        let facts = PlanInput { consistent: true, answers, ..PlanInput::default() };
        let refusals: Vec<String> = said.into_iter().collect();
        assert_eq!(start_refusals(&rollout, &fleet(&rollout, &[at(from)]), &facts), refusals);
        let status = planned(&rollout, &RolloutStatus::default(), &[at(from)], facts).status;
        let (phase, moves) = if refusals.is_empty() { (RolloutPhase::Rolling, 1) } else { (RolloutPhase::Refused, 0) };
        assert_eq!((status.phase, status.in_flight.len()), (phase, moves), "{status:?}");
    }
}

#[test]
fn unknown_placeholders_name_their_line() {
    let list = |rest: &str| format!("{{name: a, list: b.c, {rest}}}");
    let alone = "variables of the rollout are allowed only in values of `where` and `every`";
    let known = "Known variables: {from} and {to}, the versions of the rollout";
    for (check, said) in [
        ("{name: a, http: \"http://{to}.example.com/\"}".to_owned(), "a: http: {to} is in the host or the port"),
        ("{name: a, http: \"http://a/{version}\"}".to_owned(), "a: http: unknown placeholder in braces. Known"),
        (
            "{name: a, prometheus: {query: 'up{v=\"{vresion}\"}', atMost: 1}}".to_owned(),
            "a: prometheus: query: unknown placeholder {vresion}",
        ),
        (
            "{name: a, prometheus: {query: 'up_{to}', atMost: 1}}".to_owned(),
            "a: prometheus: query: {to} is outside of a string",
        ),
        ("{name: \"a-{to}\", http: \"http://a\"}".to_owned(), "\"a-{to}\" is no name"),
        ("{name: a, list: \"{to}.c\", every: {condition: A}}".to_owned(), alone),
        (list("namespace: \"n-{to}\", every: {condition: A}"), alone),
        (list("where: \"a={name}\", every: {condition: A}"), "a: where: unknown placeholder {name}"),
        (list("where: \"{to}\", every: {condition: A}"), "\"{to}\" is no label key"),
        (list("where: \"{to}=a\", every: {condition: A}"), "\"{to}\" is no label key"),
        (list("where: \"a={to}!\", every: {condition: A}"), "\"{to}!\" can be no value of a label"),
        (
            list("every: {condition: \"A-{to}\"}"),
            "variables of the rollout are allowed in values only, outside of names",
        ),
        (
            list("every: {field: \"spec.{to}\", is: 1}"),
            "variables of the rollout are allowed in values only, outside of names",
        ),
        (list("every: {field: spec.a, is: \"{form}\"}"), "did you mean \\\"from\\\"?"),
        (list("every: {any: [{field: spec.a, notIn: [a, \"{id}\"]}]}"), known),
        (
            list("every: {field: spec.a, is: [\"{to}\"]}"),
            "variables of the rollout are allowed in strings only, outside of lists",
        ),
    ] {
        let said = said.replace("\\\"", "\"");
        for list in ["start", "during"] {
            let definition =
                format!("checks:\n  {list}:\n  - {{name: fine, http: \"http://a/{{to}}\"}}\n  - {check}\n");
            let bad = define(&definition).map(|_| ()).expect_err(&check).to_string();
            assert!(bad.starts_with(&format!("definition:7: checks.{list}: ")), "{check}: {bad}");
            assert!(bad.contains(&said), "{check}: {bad}");
        }
    }
}

fn read(kind: &Kind, members: &Value) -> Result<Rollout, String> {
    let mut spec = json!({"kind": "database", "to": "1.17.1", "waves": [{"name": "all"}]});
    spec.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let metadata = json!({"name": "r", "uid": "rollout-1"});
    let document =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": metadata, "spec": spec});
    answered_rollout(&document, kind).map_err(|bad| bad.to_string())
}

#[test]
fn check_placeholder_needs_its_version() {
    let kind = checked(&format!("{{start: [crd, {IMAGE}], during: [{RESTARTS}, {IMAGE}]}}"), "").unwrap();
    let bad = read(&kind, &json!({})).map(|_| ()).unwrap_err();
    let said = "checks: image contains {from}, and the StagedRollout has no `from`: add the version of its objects";
    assert_eq!(bad.matches(said).count(), 1, "{bad}");
    read(&kind, &json!({"from": "1.16.4"})).unwrap();
    // This check does not use `from`.
    let kind = checked(&format!("{{during: [{RESTARTS}]}}"), "").unwrap();
    read(&kind, &json!({})).unwrap();
    // A version can turn a label into an invalid label.
    let long = "{name: a, list: b.c, where: \"v=x-{to}\", every: {condition: A}}";
    let kind = define(&format!("health: {{all: [{{condition: Ready}}]}}\nchecks: {{start: [{long}]}}\n")).unwrap();
    let version = "v".repeat(62);
    let bad = read(&kind, &json!({"to": version})).map(|_| ()).unwrap_err();
    assert!(bad.contains(&format!("checks: a: where: \"x-{version}\" can be no value of a label")), "{bad}");
    read(&kind, &json!({"to": "v".repeat(61)})).unwrap();
}

/// If a rollout only rewrites stored objects, the checks need no controller version.
#[test]
fn fixed_check_needs_no_version() {
    let plain = "{name: plain, http: \"http://a/ok\"}";
    let kind =
        checked(&format!("{{start: [{SUPPORTED}, {plain}, {IMAGE}], during: [{RESTARTS}, {plain}]}}"), "").unwrap();
    let rollout = read(&kind, &json!({"workflow": "rewrite", "to": "v1"})).unwrap();
    assert_eq!(asked(&rollout, &RolloutStatus::default()), [page("http://a/ok"), page("http://a/ok")]);
    let lists = rollout_lookups(&rollout, &RolloutStatus::default());
    assert!(lists.iter().all(|lookup| lookup.plural != "apps"), "{lists:?}");
}

/// For any text as a version, the StagedRollout is refused or only the version part of the lookup changes.
#[test]
fn version_cannot_redirect_a_check() {
    const PARTS: [&str; 20] = [
        "1.17.1",
        "v",
        "a",
        "-",
        ".",
        "_",
        "\"",
        "}",
        " or vector(0) #",
        "\\",
        "\n",
        "/",
        "?",
        "&",
        "#",
        "%2e",
        ",",
        ")",
        "=",
        "{to}",
    ];
    let list = "{name: l, list: b.c, where: \"a=b,v in ({to},x{from})\", every: {field: spec.v, is: \"{to}\"}}";
    let metric = "{name: m, prometheus: {query: 'up{v=\"{to}\",w=\"{from}\"}', atMost: 0}}";
    let address = "{name: p, http: \"http://a:9/x/{to}/y?v={to}&w={from}\"}";
    let checks = format!("{{start: [{list}, {metric}, {address}]}}");
    let kind = define(&format!("health: {{all: [{{condition: Ready}}]}}\nchecks: {checks}\n")).unwrap();
    let mut random = Random::new(3);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..8_000 {
        let to: String = (0..=random.below(3)).map(|_| random.word(&PARTS)).collect();
        let from: String = match random.below(3) {
            0 => "1.16.4".to_owned(),
            _ => (0..=random.below(2)).map(|_| random.word(&PARTS)).collect(),
        };
        let Ok(rollout) = read(&kind, &json!({"to": to, "from": from})) else {
            refused += 1;
            continue;
        };
        taken += 1;
        let fresh = RolloutStatus::default();
        let address: HttpAddress = format!("http://a:9/x/{to}/y?v={to}&w={from}").parse().unwrap();
        let query = format!("up{{v=\"{to}\",w=\"{from}\"}}");
        assert_eq!(asked(&rollout, &fresh), [ProbeKind::Number(query), ProbeKind::Page(address)]);
        let [lookup] = &rollout_lookups(&rollout, &fresh)[..] else { panic!("one list is asked for") };
        assert_eq!(lookup.wanted, LookupTarget::Labelled(format!("a=b,v in ({to},x{from})")));
        let signs = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '_');
        assert!(to.chars().chain(from.chars()).all(signs), "{to:?} {from:?}");
    }
    assert!(taken > 100 && refused > 100, "{taken} {refused}");
}
