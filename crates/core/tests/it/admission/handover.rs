//! Conditions for the handover of an object, and the override of these conditions.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Enforcement, Flip, Settings};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::matrix::{A, B, labelled};
use super::{data, elasticsearch, gadget, load, serving, version, with};

const OVERRIDE: &str = "/metadata/annotations/pointsman.dev~1hand-over";
const LABEL: &str = "/metadata/labels/eaas.search.mercari.in~1desired-controller-version";

fn cluster(status: &Value) -> Value {
    json!({"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch",
        "metadata": {"name": "logs", "namespace": "search", "labels": {}, "generation": 3},
        "spec": {"version": "8.18.0"}, "status": status})
}

fn served() -> Settings {
    Settings { served: vec![version(A), version(B)], ..Settings::default() }
}

/// A label change from A to B, as validated by the server of A.
fn left(kind: Kind, before: &Value, label: &str, more: impl Fn(&Value) -> Value) -> Answer {
    let (old, new) = (with(before, label, json!(A)), more(&with(before, label, json!(B))));
    ask(&serving(kind, Some(A), served()), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)))
}

#[test]
fn handover_waits_for_pending_change() {
    let same = |object: &Value| object.clone();
    for (phase, may) in [("Ready", true), ("ApplyingChanges", false), ("MigratingData", false), ("Invalid", true)] {
        let answer = left(elasticsearch(), &cluster(&json!({"phase": phase})), LABEL, same);
        assert_eq!(answer.allowed, may, "{phase}: {answer:?}");
        assert_eq!(answer.flip, Some(if may { Flip::Left } else { Flip::LeaveRefused }));
        if !may {
            let told = format!(
                "2.16.0 has not finished its work on this object: status.phase is {phase:?}, and must be none of "
            );
            assert!(answer.message.contains(&told), "{}", answer.message);
            assert!(
                answer.message.contains("set annotation pointsman.dev/hand-over to a new reason in the same write")
            );
        }
    }
    assert!(left(elasticsearch(), &cluster(&json!({})), LABEL, same).allowed, "nothing is known to go on");
}

/// A kind with this `handover` block added to its definition.
fn gadgets(handover: &str) -> Result<Kind, String> {
    let text = data("kinds/gadgets.yaml").replace("  versionPath: controllers\n", &format!("  handover:\n{handover}"));
    let mut read = |file: &str| Ok(data(&format!("kinds/{file}")));
    Kind::load("gadgets.yaml", &text, &mut read).map_err(|error| error.to_string())
}

#[test]
fn retained_fields_do_not_count() {
    let kind = || elasticsearch();
    let entered = |from: &str, phase: &str, settings: Settings, more: fn(&Value) -> Value| {
        let before = cluster(&json!({"phase": phase}));
        let (old, new) = (with(&before, LABEL, json!(from)), more(&with(&before, LABEL, json!(B))));
        let answer =
            ask(&serving(kind(), Some(B), settings), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        assert!(answer.allowed, "{answer:?}");
        answer.flip
    };
    let same = |object: &Value| object.clone();
    assert_eq!(entered(A, "Ready", served(), same), Some(Flip::Entered));
    assert_eq!(entered(A, "ApplyingChanges", served(), same), None, "A refuses, and counts it");
    assert_eq!(
        entered(A, "ApplyingChanges", Settings::default(), same),
        None,
        "with and without a list of served versions"
    );
    // Nothing blocks the handover, or the block is overridden or only reported.
    assert_eq!(entered("9.9.9", "ApplyingChanges", served(), same), Some(Flip::Entered));
    assert_eq!(entered("latest", "ApplyingChanges", served(), same), Some(Flip::Entered));
    let told = |object: &Value| with(object, OVERRIDE, json!("A hangs"));
    assert_eq!(entered(A, "ApplyingChanges", served(), told), Some(Flip::Entered));
    let warns = Settings { enforcement: Enforcement::Warn, ..served() };
    assert_eq!(entered(A, "ApplyingChanges", warns, same), Some(Flip::Entered));
}

#[test]
fn handover_conditions_are_data() {
    let handover = "  - {condition: Ready, within: status.conditions}\n  - {generation: status.observedGeneration}\n";
    let kind = || {
        let crd = data("kinds/gadgets.crd.yaml");
        let status = "conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: \
                      string}}}}\n              observedGeneration: {type: integer}\n              release: ";
        assert!(crd.contains("              release: "), "{crd}");
        let text =
            data("kinds/gadgets.yaml").replace("  versionPath: controllers\n", &format!("  handover:\n{handover}"));
        let crd = crd.replace("              release: ", &format!("              {status}"));
        Kind::load("gadgets.yaml", &text, &mut |_| Ok(crd.clone())).unwrap_or_else(|error| panic!("{error}"))
    };
    let label = "/metadata/labels/example.com~1managed-by-version";
    let base = with(&gadget("v2", &json!({"replicas": 2})), "/metadata/generation", json!(4));
    let status = |ready: &str, seen: i64| {
        let status = json!({"conditions": [{"type": "Ready", "status": ready}], "observedGeneration": seen});
        with(&base, "/status", status)
    };
    let refusals = |object: &Value| left(kind(), object, label, Value::clone).causes.len();
    assert_eq!(refusals(&status("True", 4)), 0);
    assert_eq!(refusals(&status("True", 5)), 0);
    assert_eq!(refusals(&status("False", 4)), 1);
    assert_eq!(refusals(&status("True", 3)), 1);
    assert_eq!(refusals(&base), 2, "nothing is known");
    let answer = left(kind(), &status("False", 3), label, Value::clone);
    for told in
        ["condition Ready is False, and must be True", "status.observedGeneration is 3, and metadata.generation is 4"]
    {
        assert!(answer.message.contains(told), "{}", answer.message);
    }
}

#[test]
fn impossible_conditions_are_refused() {
    for (handover, told) in [
        ("  - {field: status.phas, in: [Ready]}\n", "has no \"phas\" there"),
        ("  - {field: status.release}\n", "status.release needs one of `is`, `in`, `notIn`, `atLeast` and `present`"),
        ("  - {field: status.release, in: [3]}\n", "status.release can never be 3"),
        ("  - {condition: Ready, is: Done, within: status}\n", "is \"True\", \"False\" or \"Unknown\", not \"Done\""),
        ("  - {generation: status.release}\n", "status.release is of type string, not integer"),
        ("  - {condition: Ready, in: [x]}\n", "a gate has one of these forms:"),
    ] {
        let error = gadgets(handover).unwrap_err();
        assert!(error.contains(told), "{handover}: {error}");
    }
}

#[test]
fn override_reason_allows_handover() {
    let stuck = cluster(&json!({"phase": "ApplyingChanges"}));
    let say = |reason: &'static str| move |object: &Value| with(object, OVERRIDE, json!(reason));
    let answer = left(elasticsearch(), &stuck, LABEL, say("2.16.0 never finishes, see ticket 7"));
    assert_eq!((answer.allowed, answer.flip), (true, Some(Flip::Left)), "{answer:?}");
    assert_eq!(answer.count("overridden"), 1);
    let heard = answer.audit["overridden"].as_str().unwrap();
    assert!(heard.starts_with("2.16.0 never finishes, see ticket 7: metadata.labels["), "{heard}");
    assert!(answer.warnings[0].starts_with("handed over because of annotation pointsman.dev/hand-over: "));
    // An empty reason, and a reason given for an earlier write.
    assert!(!left(elasticsearch(), &stuck, LABEL, say("")).allowed);
    let before = with(&stuck, OVERRIDE, json!("last year"));
    assert!(!left(elasticsearch(), &before, LABEL, Value::clone).allowed);
    assert!(left(elasticsearch(), &before, LABEL, say("this year")).allowed);
    // Without a block there is no override and no warning.
    let answer = left(elasticsearch(), &cluster(&json!({})), LABEL, say("just so"));
    assert!(answer.allowed && answer.audit.is_null() && answer.count("overridden") == 0, "{answer:?}");
}

#[test]
fn override_skips_path_not_rules() {
    let c = "2.18.0";
    let settings = Settings { served: vec![version(A), version(B), version(c)], ..Settings::default() };
    let webhook = serving(load("gadgets.yaml"), Some(c), settings);
    let entered = |replicas: i64| {
        let base = gadget("v2", &json!({"replicas": replicas}));
        let new = with(&labelled(&base, Some(c)), OVERRIDE, json!("2.17.0 cannot start"));
        ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&labelled(&base, Some(A))), Some(&new)))
    };
    let answer = entered(2);
    assert!(answer.allowed && answer.count("overridden") == 1, "{answer:?}");
    assert!(!entered(1).allowed, "2.18.0 itself takes no object with one replica");
}

#[test]
fn advice_uses_label_spelling() {
    let served = ["v2.16.0", "v2.17.0", "v2.18.0"];
    let settings = |served: &[&str]| Settings {
        served: served.iter().map(|text| version(text)).collect(),
        enforcement: Enforcement::Enforce,
        ..Settings::default()
    };
    let flip = |settings: Settings| {
        let base = gadget("v2", &json!({"replicas": 2}));
        let webhook = serving(load("gadgets.yaml"), Some("v2.18.0"), settings);
        let (old, new) = (labelled(&base, Some("v2.16.0")), labelled(&base, Some("v2.18.0")));
        ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new))).message
    };
    let told = flip(settings(&served));
    assert!(told.ends_with("no upgrade from v2.16.0 to v2.18.0 is allowed; first move to v2.17.0"), "{told}");
    let told = flip(settings(&["v2.16.0", "v2.18.0"]));
    assert!(told.ends_with("first move to 2.17.0 (2.17.0 is not served now)"), "{told}");
    let told = flip(settings(&[]));
    assert!(told.contains("if no server handles v2.16.0 any more, start this server with --served-versions"), "{told}");
}

#[test]
fn operators_downgrade_one_minor() {
    let flip = |from: &str, to: &str| {
        let settings = Settings { served: vec![version(from), version(to)], ..Settings::default() };
        let webhook = serving(elasticsearch(), Some(to), settings);
        let object = |label: &str| with(&cluster(&json!({})), LABEL, json!(label));
        ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&object(from)), Some(&object(to)))).allowed
    };
    assert!(flip("2.16.0", "2.17.0") && flip("2.17.0", "2.16.0") && flip("2.9.0", "3.1.0"));
    assert!(!flip("2.17.0", "2.15.0") && !flip("3.0.0", "2.17.0"));
}

#[test]
fn mistaken_label_gets_a_correction() {
    let webhook = serving(elasticsearch(), None, Settings::default());
    let mistaken = "/metadata/labels/eaas.search.mercari.in~1controller-version";
    let plain = cluster(&json!({}));
    let wrong = with(&plain, mistaken, json!(B));
    let ask = |old: Option<&Value>, new: &Value| {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        ask(&webhook, Endpoint::Validate, &review(operation, old, Some(new)))
    };
    for answer in [ask(None, &wrong), ask(Some(&plain), &wrong), ask(Some(&wrong), &with(&wrong, mistaken, json!(A)))] {
        assert!(!answer.allowed, "{answer:?}");
        assert!(
            answer.message.contains(
                "metadata.labels[eaas.search.mercari.in/controller-version]: Forbidden: the controller version of an \
                 object is in label eaas.search.mercari.in/desired-controller-version: set this label instead"
            ),
            "{}",
            answer.message
        );
    }
    // An existing label is not refused, and may be removed.
    assert!(ask(Some(&wrong), &with(&wrong, "/spec/version", json!("8.18.1"))).allowed);
    assert!(ask(Some(&wrong), &plain).allowed);
}
