//! Operations that give fields another form, in the spec, in items and in the status.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

use super::obeys_every_law;
use crate::kinds;

fn webhook() -> Webhook {
    Webhook::new(vec![kinds::load("parcels.yaml")], Metadata::Identity).unwrap()
}

fn parcel(version: &str, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Parcel",
        "metadata": {"name": "a", "namespace": "east", "uid": "1"}, "spec": spec, "status": status,
    })
}

/// Converts an object, and compares its fields. Returns the converted object.
fn converts(object: &Value, to: &str, spec: &Value, status: &Value) -> Value {
    let text = webhook().convert(&object.to_string(), &format!("example.com/{to}")).unwrap().text;
    let converted: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(converted["spec"], *spec);
    assert_eq!(converted["status"], *status);
    converted
}

#[test]
fn every_form_converts_both_ways() {
    let older = parcel(
        "v1",
        json!({
            "sender": {"name": "ann", "street": "main", "zip": "123", "fax": "1", "depot": {"hall": "a", "gate": 2}},
            "slot": "mon * 30",
            "carrierRef": {"apiVersion": "ships/v1", "kind": "Ship", "name": "s", "namespace": "west"},
            "policy": "Idle",
            "labels": {"x": "1", "y": "2"},
            "priorityClassSource": "core/class",
            "items": [{"name": "n", "size": {"w": 1, "h": 2}, "price": "10 EUR", "grams": 5}],
        }),
        json!({"stops": [{"id": "1", "done": true, "place": {"city": "c", "code": "z"}}]}),
    );
    let newer = converts(
        &older,
        "v2",
        &json!({
            "origin": {"sender": {"name": "ann", "address": "main", "zip": 123, "mail": "none",
                "station": {"hall": "a", "gate": 2}}},
            "slot": {"day": "mon", "minute": "30"},
            "carrierRef": {"apiGroup": "ships", "kind": "Ship", "name": "s"},
            "policy": "EmptyOrIdle", "after": "0s",
            "tags": [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}],
            "priorityClassRef": {"group": "core", "kind": "Class"},
            "items": [{"name": "n", "measures": {"width": 1, "h": 2}, "amount": "10", "currency": "EUR",
                "weight": "5g", "origin": "east"}],
        }),
        &json!({"stops": [{"id": "1", "state": "Done", "at": {"city": "c"}}]}),
    );
    converts(&newer, "v1", &older["spec"], &older["status"]);
}

#[test]
fn new_object_gets_values_of_definition() {
    let newer = parcel(
        "v2",
        json!({
            "slot": {},
            "carrierRef": {"apiGroup": "ships", "kind": "Ship", "name": "s"},
            "items": [{"name": "n", "amount": "10", "weight": "5g", "origin": "x"}],
        }),
        json!({}),
    );
    converts(
        &newer,
        "v1",
        &json!({
            "slot": "* * *",
            "carrierRef": {"apiVersion": "ships/v1beta1", "kind": "Ship", "name": "s", "namespace": "east"},
            "items": [{"name": "n", "price": "10 -", "grams": 5}],
        }),
        &json!({}),
    );
    let older =
        parcel("v1", json!({"slot": "* * *", "carrierRef": {"apiVersion": "v1"}, "items": [{"name": "n"}]}), json!({}));
    let spec = json!({"slot": {}, "carrierRef": {}, "items": [{"name": "n", "weight": "0g", "origin": "east"}]});
    let converted = converts(&older, "v2", &spec, &json!({}));
    converts(&converted, "v1", &older["spec"], &older["status"]);
}

/// A server with a kind of two versions with these fields of the spec, and one operation.
fn notes(older: &Value, newer: &Value, operation: &Value) -> Webhook {
    let version = |name: &str, fields: &Value| {
        let spec = json!({"type": "object", "properties": fields});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        json!({"name": name, "served": true, "storage": name == "v2", "schema": schema})
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "notes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Note", "plural": "notes"},
            "versions": [version("v1", older), version("v2", newer)],
        },
    });
    let definition = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "KindDefinition", "crd": "notes.crd.yaml",
        "steps": [{"from": "v1", "to": "v2", "operations": [operation]}],
    });
    let kind = Kind::from_crd(&definition.to_string(), &crd.to_string()).unwrap();
    Webhook::new(vec![kind], Metadata::Identity).unwrap()
}

/// Converts `{a: b}` of a kind whose newer field `b` results from the expression `up`. Returns the newer spec, after
/// the conversion back restored the object.
fn computed(newer: &Value, up: &str) -> Value {
    let compute = json!({"from": "spec.a", "to": "spec.b", "up": up, "down": "null"});
    let webhook = notes(&json!({"a": {"type": "string"}}), &json!({"b": newer}), &json!({"compute": compute}));
    let older = json!({"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": {"a": "b"}});
    let newer = webhook.convert(&older.to_string(), "example.com/v2").unwrap().text;
    let home: Value = serde_json::from_str(&webhook.convert(&newer, "example.com/v1").unwrap().text).unwrap();
    assert_eq!(home["spec"], older["spec"]);
    serde_json::from_str::<Value>(&newer).unwrap()["spec"].clone()
}

#[test]
fn forged_entry_runs_no_idle_expression() {
    let text = json!({"type": "string"});
    let compute = json!({
        "from": {"a": "spec.a", "b": "spec.b"}, "to": "spec.c",
        "up": "a == null ? b : a", "down": {"a": "value", "b": "null"},
    });
    let operation = json!({"when": {"field": "spec.mode", "set": true, "operations": [{"compute": compute}]}});
    let webhook = notes(&json!({"mode": text, "a": text, "b": text}), &json!({"mode": text, "c": text}), &operation);
    let forged = json!({"fields": {"spec.c": {"value": "x", "became": [[], ["b"]]}}}).to_string();
    let older = json!({
        "apiVersion": "example.com/v1", "kind": "Note",
        "metadata": {"name": "a", "annotations": {"pointsman.dev/kept-v2": forged}}, "spec": {"b": "b"},
    });
    let newer = webhook.convert(&older.to_string(), "example.com/v2").unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&newer).unwrap()["spec"], json!({}));
}

#[test]
fn result_has_limited_size() {
    let text = json!({"type": "string"});
    let longer = |bytes: usize| computed(&text, &format!("value + {:?}", "x".repeat(bytes)));
    // Four times `"b"`, with its quotes, and 256, without the quotes and the letter.
    assert_eq!(longer(265), json!({"b": format!("b{}", "x".repeat(265))}));
    assert_eq!(longer(266), json!({}));
}

#[test]
fn map_of_many_entries_is_shown() {
    let labels: Value = (0..200).map(|number| (format!("k{number:03}"), json!("1"))).collect();
    let tags: Vec<Value> = (0..200).map(|number| json!({"name": format!("k{number:03}"), "value": "1"})).collect();
    let spec = json!({"slot": "* * *", "labels": labels});
    let older = parcel("v1", spec.clone(), json!({}));
    let newer = converts(&older, "v2", &json!({"slot": {}, "tags": tags}), &json!({}));
    converts(&newer, "v1", &spec, &json!({}));
}

#[test]
fn result_outside_schema_is_absent() {
    let bounded = json!({"type": "string", "enum": ["b", "bb"]});
    assert_eq!(computed(&bounded, "value + value"), json!({"b": "bb"}));
    assert_eq!(computed(&bounded, "value + value + value"), json!({}));
}

#[test]
fn kind_with_all_forms_is_lawful() {
    obeys_every_law("parcels.yaml");
}
