use std::collections::BTreeSet;

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::matcher;
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Value, preview, survey};
use pointsman_core::webhook::{Metadata, Webhook};

use super::{objects, trips};
use crate::kinds::WEBHOOK;

fn is_match(pattern: &str, text: &str) -> bool {
    matcher(pattern)(text)
}

#[test]
fn built_in_kinds_preview_clean() {
    for trip in trips() {
        for seed in 0..20 {
            let object = objects::pruned(&trip, seed);
            let seen = preview(&WEBHOOK, trip.kind, &object, trip.to, &is_match).unwrap();
            assert_eq!((&seen.refused, &seen.invalid), (&None, &None), "{}: {}", trip.name(), object.to_text());
            assert!(seen.differences.is_empty(), "{}: {:?}", trip.name(), seen.differences);
        }
    }
}

#[test]
fn schema_violation_names_its_place() {
    let trip = trips().into_iter().find(|trip| trip.kind.name() == "materialize" && trip.down).unwrap();
    let mut object = objects::complete(&trip, 0);
    object.set("spec.podLabels", Value::literal(&serde_json::json!({"a": 5})));
    let seen = preview(&WEBHOOK, trip.kind, &object, trip.to, &is_match).unwrap();
    assert_eq!(seen.invalid.unwrap().path, "/spec/podLabels/a");
    assert!(preview(&WEBHOOK, trip.kind, &object, "v7", &is_match).is_none());
}

/// Lists that moved, with fields of the same names inside.
fn two_lists() -> Kind {
    let list = |field: &str, kind: &str| {
        format!(
            "{{type: array, items: {{type: object, properties: {{name: {{type: string}}, {field}: {{type: {kind}}}}}}}}}"
        )
    };
    let version = |name: &str, storage: bool, spec: &str| {
        format!(
            "  - {{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object, properties: \
             {{spec: {{type: object, properties: {{{spec}}}}}}}}}}}}}\n"
        )
    };
    let (older, newer) = (list("timeout", "string"), list("timeoutSeconds", "integer"));
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: checks.example.com}}\nspec:\n  \
         group: example.com\n  names: {{kind: Check, plural: checks}}\n  scope: Namespaced\n  versions:\n{}{}",
        version("v1", false, &format!("a: {older}, b: {older}")),
        version("v2", true, &format!("c: {newer}, d: {newer}")),
    );
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
                      operations:\n  - each:\n      from: spec.a\n      to: spec.c\n      operations:\n      \
                      - type: {from: timeout, to: timeoutSeconds, as: seconds}\n  - each:\n      from: spec.b\n      to: spec.d\n      \
                      operations:\n      - type: {from: timeout, to: timeoutSeconds, as: seconds}\n";
    Kind::from_crd(definition, &crd).unwrap()
}

#[test]
fn hidden_values_name_line_and_list() {
    let kind = two_lists();
    let operations = &kind.steps()[0].operations;
    assert!(operations.contains(&"type spec.a[*].timeout <-> spec.c[*].timeoutSeconds".to_owned()), "{operations:?}");
    let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
    let (words, converted) = (Dictionary::default(), || {});
    let mut options =
        CheckOptions { seed: 0, cases: 50, laws: &LAWS, words: &words, has_time: &mut || true, converted: &converted };
    let hidden = survey(&webhook, &webhook.kinds()[0], &[], &mut options).hidden;
    let found: BTreeSet<(String, u64)> = hidden
        .iter()
        .filter(|hidden| hidden.operation == "type" && hidden.versions.0 == "v1")
        .map(|hidden| (hidden.before[0].0.chars().filter(|c| !c.is_ascii_digit()).collect(), hidden.line))
        .collect();
    assert_eq!(found, BTreeSet::from([("spec.a[].timeout".to_owned(), 12), ("spec.b[].timeout".to_owned(), 17)]));
    for hidden in hidden.iter().filter(|hidden| hidden.versions.0 == "v1") {
        let lists = hidden.after.iter().all(|(path, _)| path.starts_with("spec.c") || path.starts_with("spec.d"));
        assert!(lists, "{:?}", hidden.after);
    }
}
