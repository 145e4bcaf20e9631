//! Operations on fields without a schema, and on annotations and labels.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

use super::obeys_every_law;
use crate::kinds::{self, data};

fn run_object(version: &str, task: &Value, workspaces: &Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Run",
        "metadata": {"name": "a", "namespace": "b", "uid": "1"},
        "spec": {"taskSpec": task, "workspaces": workspaces},
    })
}

/// Converts an older object, compares its spec, and checks that the conversion back restores the object.
fn converts(older: &Value, spec: &Value) {
    assert_eq!(checked_v2(older)["spec"], *spec);
}

#[test]
fn operations_reach_into_schemaless_parts() {
    let task =
        json!({"steps": [{"name": "s", "resources": {"cpu": 1}, "comment": "c"}], "timeout": "1h", "other": [1]});
    let workspaces = json!([{"name": "w", "mode": "fast", "size": 2, "extra": null}]);
    let spec = json!({
        "taskSpec": {"steps": [{"name": "s", "computeResources": {"cpu": 1}}], "timeouts": {"task": "1h"}, "other": [1]},
        "workspaces": [{"name": "w", "mode": "Quick", "bytes": 2048, "extra": null}],
    });
    converts(&run_object("v1", &task, &workspaces), &spec);
}

#[test]
fn field_at_the_new_name_is_kept() {
    let task = json!({"steps": [{"resources": 1, "computeResources": 2}], "timeout": "1h", "timeouts": {"task": "2h"}});
    let spec = json!({
        "taskSpec": {"steps": [{"computeResources": 1}], "timeouts": {"task": "1h"}},
        "workspaces": [{"bytes": 1024}],
    });
    converts(&run_object("v1", &task, &json!([{"size": 1, "bytes": "one"}])), &spec);
}

#[test]
fn field_of_one_version_is_kept() {
    let task = json!({"steps": [{"computeResources": 2}], "timeouts": {"task": "2h"}});
    let spec = json!({"taskSpec": {"steps": [{}], "timeouts": {}}, "workspaces": [{}]});
    converts(&run_object("v1", &task, &json!([{"size": "text"}])), &spec);
}

#[test]
fn other_types_are_unchanged() {
    for task in [json!("text"), json!(1), json!(["a"]), json!({"steps": "none"}), json!({"steps": ["x", null, 1]})] {
        let spec = json!({"taskSpec": task, "workspaces": [{"mode": ["fast"]}]});
        converts(&run_object("v1", &task, &json!([{"mode": ["fast"]}])), &spec);
    }
}

#[test]
fn value_without_place_is_kept() {
    let task = json!({"timeout": "1h", "timeouts": "all"});
    let spec = json!({"taskSpec": {"timeouts": "all"}, "workspaces": []});
    converts(&run_object("v1", &task, &json!([])), &spec);
}

/// An older object with annotations and a tier.
fn annotated(annotations: &Value, tier: &str) -> Value {
    let mut older = run_object("v1", &json!({}), &json!([]));
    older["metadata"]["annotations"] = annotations.clone();
    older["spec"]["tier"] = json!(tier);
    older
}

/// Converts an object to v2, and checks that the conversion back restores it.
fn checked_v2(older: &Value) -> Value {
    let webhook = Webhook::new(vec![kinds::load("runs.yaml")], Metadata::Identity).unwrap();
    let newer = webhook.convert(&older.to_string(), "example.com/v2").unwrap().text;
    let home = webhook.convert(&newer, "example.com/v1").unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&home).unwrap(), *older);
    serde_json::from_str(&newer).unwrap()
}

#[test]
fn annotations_and_labels_become_fields() {
    let older = annotated(&json!({"example.com/queue": "q", "example.com/retries": "7", "other": "x"}), "gold");
    let newer = checked_v2(&older);
    assert_eq!(newer["spec"], json!({"taskSpec": {}, "workspaces": [], "queue": "q", "retries": 7}));
    assert_eq!(newer["metadata"]["labels"], json!({"example.com/tier": "gold"}));
    assert_eq!(newer["metadata"]["annotations"], json!({"other": "x"}));
}

#[test]
fn empty_annotations_return() {
    let webhook = Webhook::new(vec![kinds::load("runs.yaml")], Metadata::Identity).unwrap();
    let newer = json!({
        "apiVersion": "example.com/v2", "kind": "Run",
        "metadata": {"name": "a", "annotations": {}}, "spec": {"queue": "q"}, "status": {"gone": 1},
    });
    let older = webhook.convert(&newer.to_string(), "example.com/v1").unwrap().text;
    let home = webhook.convert(&older, "example.com/v2").unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&home).unwrap(), newer);
    assert_eq!(webhook.convert(&home, "example.com/v1").unwrap().text, older);
}

#[test]
fn value_that_is_no_label_is_kept() {
    let newer = checked_v2(&annotated(&json!({"other": "x"}), "not a label!"));
    assert_eq!(newer["metadata"]["labels"], Value::Null);
    assert_eq!(newer["spec"], json!({"taskSpec": {}, "workspaces": []}));
    let kept = json!({"fields": {"spec.tier": {"value": "not a label!"}}}).to_string();
    assert_eq!(newer["metadata"]["annotations"]["pointsman.dev/kept-v1"], kept);
}

#[test]
fn other_metadata_is_refused() {
    for (place, message) in [
        ("metadata.name", "in the metadata, an operation can change only an annotation or a label"),
        ("metadata.labels[\"a b\"]", "\"a b\" is not a valid key of an annotation or a label"),
        (
            "metadata.annotations[\"pointsman.dev/hold\"]",
            "keys with the prefix pointsman.dev/ are reserved for pointsman",
        ),
    ] {
        let definition = data("kinds/runs.yaml").replace("metadata.labels[\"example.com/tier\"]", place);
        let mut read = |name: &str| Ok(data(&format!("kinds/{name}")));
        let error = Kind::load("runs.yaml", &definition, &mut read).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn misspelt_name_is_refused() {
    let definition = data("kinds/runs.yaml").replace("field: mode", "field: nam");
    let error = Kind::load("runs.yaml", &definition, &mut |name| Ok(data(&format!("kinds/{name}")))).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("nam: the older version has no \"nam\" there, did you mean \"name\"?"), "{error}");
}

#[test]
fn schemaless_part_of_one_version_is_refused() {
    let crd = data("kinds/runs.crd.yaml");
    let typed = crd.replacen("taskSpec: {x-kubernetes-preserve-unknown-fields: true}", "taskSpec: {type: string}", 1);
    assert_ne!(crd, typed);
    let error = Kind::load("runs.yaml", &data("kinds/runs.yaml"), &mut |_| Ok(typed.clone())).unwrap_err().to_string();
    let message = "spec.taskSpec preserves unknown fields only in the newer version: use `compute` on spec.taskSpec as a \
                   whole";
    assert!(error.contains(message), "{error}");
}

#[test]
fn schemaless_fields_obey_the_laws() {
    obeys_every_law("runs.yaml");
}
