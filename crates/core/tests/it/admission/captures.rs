//! Every recorded admission request of real API servers gets a valid response.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Enforcement, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::{data, plain, serving};

const DEFINITION: &str = "apiVersion: pointsman.dev/v1
kind: KindDefinition
crd: widgets.crd.yaml
steps:
- from: v1
  to: v2
  operations:
  - split: {field: spec.hostPort, into: [spec.host, spec.port], separator: ':'}
rolloutHash: {of: spec, at: v2}
admission:
  rules:
  - range: {field: spec.replicas, min: 0, max: 5}
";

fn widgets() -> Kind {
    Kind::load("widgets.yaml", DEFINITION, &mut |file| Ok(data(&format!("kinds/{file}"))))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn recorded() -> Vec<(String, Value)> {
    let directory = format!("{}/../../tests/data/captures", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut requests = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let calls: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        requests.extend(calls.into_iter().map(|mut call| (name.clone(), call["request"].take())));
    }
    requests.retain(|(_, request)| request["kind"] == "AdmissionReview");
    requests
}

fn answers(webhook: &Webhook, review: &Value) -> [Answer; 2] {
    [Endpoint::Mutate, Endpoint::Validate].map(|endpoint| ask(webhook, endpoint, review))
}

#[test]
fn recorded_requests_get_valid_answers() {
    let default = Settings { default: true, ..Settings::default() };
    let servers = [
        plain(widgets(), Enforcement::Enforce),
        plain(widgets(), Enforcement::Audit),
        serving(widgets(), Some("1.0.0"), default),
        serving(widgets(), Some("1.0.0"), Settings::default()),
    ];
    let recorded = recorded();
    let (mut patched, mut beta, mut scales) = (0, 0, 0);
    for (name, request) in &recorded {
        for (index, webhook) in servers.iter().enumerate() {
            let [mutate, validate] = answers(webhook, request);
            // The last server rejects objects without a label.
            let misdirected = index == 3 && validate.message.contains("the wrong server");
            assert!(mutate.allowed && (validate.allowed || misdirected), "{name}: {validate:?}");
            patched += u32::from(!mutate.patch.is_empty());
            if request["request"]["operation"] == "CREATE" && request["request"].get("subResource").is_none() {
                let [again, _] = answers(webhook, &review("CREATE", None, Some(&mutate.patched)));
                assert!(again.patch.is_empty(), "{name}");
            }
        }
        beta += u32::from(request["apiVersion"] == "admission.k8s.io/v1beta1");
        scales += u32::from(request["request"]["object"]["kind"] == "Scale");
    }
    println!("{} reviews, {patched} answers with a patch", recorded.len());
    assert!(
        recorded.len() > 50 && patched > 50 && beta > 1 && scales > 1,
        "{} {patched} {beta} {scales}",
        recorded.len()
    );
}

#[test]
fn varied_recorded_requests_get_valid_answers() {
    let webhook = serving(widgets(), Some("1.0.0"), Settings { default: true, ..Settings::default() });
    for (name, request) in recorded() {
        for (path, value) in [
            ("/apiVersion", json!("admission.k8s.io/v1beta1")),
            ("/request/name", json!("")),
            ("/request/name", Value::Null),
            ("/request/subResource", json!("status")),
            ("/request/subResource", json!("scale")),
            ("/request/operation", json!("CONNECT")),
            ("/request/operation", json!("DELETE")),
            ("/request/dryRun", json!(true)),
            ("/request/userInfo", Value::Null),
            ("/request/requestKind", Value::Null),
        ] {
            let mut other = request.clone();
            let (parent, last) = path.rsplit_once('/').unwrap();
            other.pointer_mut(parent).unwrap()[last] = value;
            let [mutate, validate] = answers(&webhook, &other);
            assert!(mutate.allowed && validate.allowed, "{name} {path}: {validate:?}");
        }
    }
}

#[test]
fn messages_show_generate_name() {
    let webhook = plain(widgets(), Enforcement::Enforce);
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generateName": "gen-"}, "spec": {"replicas": 6}});
    let answer = ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(&object)));
    assert_eq!(
        answer.message,
        "Widget.example.com \"gen-*\" is invalid: spec.replicas: Invalid value: 6: must be less than or equal to 5"
    );
}

#[test]
fn unknown_kinds_are_refused_by_name() {
    let webhook = plain(widgets(), Enforcement::Enforce);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}});
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 99}});
    for object in [pod, scale] {
        let [mutate, validate] = answers(&webhook, &review("CREATE", None, Some(&object)));
        assert_eq!((mutate.allowed, validate.allowed, validate.code), (false, false, 400));
        assert!(
            validate.message.contains("is not served here; known kinds: Widget.example.com"),
            "{}",
            validate.message
        );
        let [mutate, validate] = answers(&webhook, &review("DELETE", Some(&object), None));
        assert!(mutate.allowed && validate.allowed);
        // A review that claims to be about a Widget and contains another object.
        let mut odd = review("CREATE", None, Some(&object));
        odd["request"]["kind"] = json!({"group": "example.com", "version": "v2", "kind": "Widget"});
        let [mutate, validate] = answers(&webhook, &odd);
        assert!(mutate.patch.is_empty() && !validate.allowed, "{validate:?}");
    }
}
