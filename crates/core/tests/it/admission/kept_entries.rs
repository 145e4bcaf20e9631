//! Entries that a write adds to kept annotations.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Enforcement};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::plain;

const KEPT: &str = "pointsman.dev/kept-v1";

/// A kind whose older version bounds a field, and whose status is a subresource.
fn kind() -> Kind {
    let version = |name: &str, storage: bool, spec: &str, status: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    subresources: {{status: {{}}}}\n    schema:\n      \
             openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{spec}}}}}, status: \
             {{type: object, properties: {{{status}}}}}}}}}\n"
        )
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gadgets.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Gadget, plural: gadgets}}\n  scope: Namespaced\n  versions:\n{}{}",
        version(
            "v1",
            false,
            "mode: {type: string, enum: [a, b]}, l: {type: array, items: {type: object, properties: {size: {type: integer, \
             maximum: 5}, x: {type: string}}}}",
            "old: {type: string}"
        ),
        version("v2", true, "l: {type: array, items: {type: object, properties: {x: {type: string}}}}", "")
    );
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: x\nsteps:\n- from: v1\n  to: v2\n  \
                      operations:\n  - drop: spec.mode\n  - drop: status.old\n  - each: {in: spec.l, operations: [{drop: \
                      size}]}\n";
    Kind::from_crd(definition, &crd).unwrap()
}

fn gadget(fields: Option<Value>) -> Value {
    let mut object = json!({
        "apiVersion": "example.com/v2",
        "kind": "Gadget",
        "metadata": {"name": "g", "namespace": "default", "uid": "u"},
        "spec": {"l": [{"x": "1"}]},
    });
    if let Some(fields) = fields {
        object["metadata"]["annotations"] = json!({ KEPT: json!({ "fields": fields }).to_string() });
    }
    object
}

fn items(number: i64) -> Value {
    json!({"spec.l": {"each": {"count": 1, "items": [[0, {"size": {"value": number}}]]}}})
}

#[test]
fn added_entry_beyond_schema_is_refused() {
    let webhook = plain(kind(), Enforcement::Enforce);
    let validate = |operation: &str, old: Option<&Value>, new: &Value| {
        ask(&webhook, Endpoint::Validate, &review(operation, old, Some(new)))
    };
    let bare = gadget(None);
    for (fields, is_allowed) in [
        (json!({"spec.mode": {"value": "a"}}), true),
        (json!({"spec.mode": {"value": "c"}}), false),
        (items(5), true),
        (items(6), false),
        (json!({"spec.nowhere": {"value": "c"}}), true),
    ] {
        let forged = gadget(Some(fields));
        assert_eq!(validate("CREATE", None, &forged).allowed, is_allowed, "{forged}");
        let update = validate("UPDATE", Some(&bare), &forged);
        assert_eq!(update.allowed, is_allowed, "{update:?}");
        if !is_allowed {
            assert_eq!(update.causes[0].0, format!("metadata.annotations[{KEPT}]"));
            assert!(update.causes[0].1.contains("that v1 does not allow"), "{update:?}");
        }
        // Stored entries stay: bounds may have become tighter.
        assert!(validate("UPDATE", Some(&forged), &forged).allowed);
    }
}

#[test]
fn added_status_entry_is_refused() {
    let webhook = plain(kind(), Enforcement::Enforce);
    let [bare, forged] = [None, Some(json!({"status.old": {"value": "x"}}))].map(gadget);
    for (operation, old) in [("CREATE", None), ("UPDATE", Some(&bare))] {
        let review = review(operation, old, Some(&forged));
        let answer = ask(&webhook, Endpoint::Validate, &review);
        assert!(!answer.allowed && answer.causes[0].1.contains("only a write of the status"), "{answer:?}");
        // `/mutate` removes the entry, as the API server does with the status.
        let stamped = ask(&webhook, Endpoint::Mutate, &review);
        assert_eq!(stamped.patched["metadata"]["annotations"].get(KEPT), None, "{stamped:?}");
        assert!(stamped.warnings.iter().any(|warning| warning.contains("only a write of the status")));
    }
    let unchanged = review("UPDATE", Some(&forged), Some(&forged));
    assert!(ask(&webhook, Endpoint::Validate, &unchanged).allowed);
    assert!(ask(&webhook, Endpoint::Mutate, &unchanged).patch.is_empty());
}

/// A stored object has a value of another type. A write of the object passes, and its client gets a warning about the
/// value hidden in v1.
#[test]
fn stored_mistyped_value_warns() {
    let webhook = plain(kind(), Enforcement::Enforce);
    for (fields, path) in [
        (json!({"spec.mode": {"value": ["a"]}}), Some("spec.mode")),
        (json!({"spec.l": {"each": {"count": 1, "items": [[0, {"size": {"value": "5"}}]]}}}), Some("spec.l[*].size")),
        (json!({"spec.mode": {"value": "a"}}), None),
    ] {
        let stored = gadget(Some(fields));
        let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&stored), Some(&stored)));
        assert!(answer.allowed, "{answer:?}");
        let warned = answer.warnings.iter().find(|warning| warning.contains("v1 shows the object without this value"));
        assert_eq!(warned.is_some(), path.is_some(), "{answer:?}");
        assert!(path.is_none_or(|path| warned.unwrap().contains(path)), "{answer:?}");
    }
}
