//! The guesses between small schemas.

use serde_json::{Value, json};

use super::step;
use crate::definition::{Schema, Sides};
use crate::draft::entry::{Entry, Operation};
use crate::draft::flow::flow;

/// The guessed operations for `spec`, in one line each. Operations on items are in brackets behind their list.
fn guesses(older: Value, newer: Value) -> Vec<String> {
    let root = |spec: Value| Schema::read(&object(json!({"spec": object(spec), "metadata": {"type": "object"}})));
    let (older, newer) = (root(older), root(newer));
    let versions = Sides { older: "v1beta1", newer: "v1" };
    let (entries, _) = step(versions, Sides { older: &older, newer: &newer });
    entries.iter().map(shown).collect()
}

fn shown(entry: &Entry) -> String {
    match &entry.operation {
        Operation::Line(name, argument) => format!("{name}: {}", flow(argument)),
        Operation::Each(lists, inside) => {
            format!("{} -> {} {:?}", lists.older, lists.newer, inside.iter().map(shown).collect::<Vec<_>>())
        }
    }
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn list(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "integer"})
}

#[track_caller]
fn check(older: Value, newer: Value, expected: &[&str]) {
    assert_eq!(guesses(older, newer), expected);
}

#[test]
fn equal_schemas_need_no_operation() {
    let schema = || json!({"a": text(), "b": object(json!({"c": number()})), "d": list(object(json!({"e": text()})))});
    check(schema(), schema(), &[]);
}

#[test]
fn similar_name_is_renamed() {
    let expected = ["rename: {from: spec.emailSANs, to: spec.emails}"];
    check(
        json!({"emailSANs": list(text()), "size": number()}),
        json!({"emails": list(text()), "size": number()}),
        &expected,
    );
    check(json!({"colour": text()}), json!({"weight": text()}), &[]);
    check(json!({"maxSize": number()}), json!({"minSize": number()}), &[]);
}

#[test]
fn equal_name_is_found_in_other_object() {
    let newer = json!({"network": object(json!({"port": number(), "host": text()}))});
    check(json!({"port": number()}), newer, &["move: {from: spec.port, to: spec.network.port}"]);
}

#[test]
fn object_moves_before_its_fields() {
    let store = || object(json!({"name": text(), "size": number(), "class": text()}));
    let newer = json!({"backup": object(json!({"store": store()}))});
    check(json!({"store": store()}), newer, &["move: {from: spec.store, to: spec.backup.store}"]);
}

#[test]
fn changed_object_moves_by_fields() {
    let store = |more: &str| object(json!({"name": text(), "size": number(), more: list(number())}));
    let newer = json!({"backup": object(json!({"store": store("zones")}))});
    let expected = [
        "move: {from: spec.store.name, to: spec.backup.store.name}",
        "move: {from: spec.store.size, to: spec.backup.store.size}",
    ];
    check(json!({"store": store("hosts")}), newer, &expected);
}

#[test]
fn items_are_guessed_like_objects() {
    let older = json!({"ports": list(object(json!({"name": text(), "portNumber": number()})))});
    let newer = json!({"ports": list(object(json!({"name": text(), "number": number()})))});
    check(older, newer, &[r#"spec.ports -> spec.ports ["rename: {from: portNumber, to: number}"]"#]);
}

#[test]
fn duration_becomes_number_of_its_unit() {
    let expected = ["type: {from: spec.timeout, to: spec.timeoutSeconds, as: seconds}"];
    check(json!({"timeout": text()}), json!({"timeoutSeconds": number()}), &expected);
}

#[test]
fn single_value_becomes_list() {
    check(json!({"host": text()}), json!({"hosts": list(text())}), &["wrap: {from: spec.host, to: spec.hosts}"]);
}

#[test]
fn object_with_one_field_becomes_value() {
    let older = json!({"modules": list(object(json!({"name": text()})))});
    check(older, json!({"modules": list(text())}), &[r#"spec.modules -> spec.modules ["move: {from: name, to: .}"]"#]);
}

#[test]
fn version_in_path_names_other_version() {
    let conditions = || list(object(json!({"type": text(), "status": text()})));
    let older = json!({"conditions": conditions(), "v1": object(json!({"conditions": conditions()}))});
    let newer = json!({
        "conditions": conditions(),
        "deprecated": object(json!({"v1beta1": object(json!({"conditions": conditions()}))})),
    });
    let expected = [
        "move: {from: spec.v1.conditions, to: spec.conditions}",
        "move: {from: spec.conditions, to: spec.deprecated.v1beta1.conditions}",
    ];
    check(older, newer, &expected);
}

#[test]
fn two_equal_candidates_stay_apart() {
    let newer =
        json!({"left": object(json!({"labels": list(text())})), "right": object(json!({"labels": list(text())}))});
    check(json!({"top": object(json!({"labels": list(text())}))}), newer, &[]);
}

#[test]
fn reference_keeps_group_of_api_version() {
    let reference = |fields: &[&str]| object(fields.iter().map(|field| ((*field).to_owned(), text())).collect());
    let older = json!({"machineRef": reference(&["apiVersion", "kind", "name", "namespace"])});
    let newer = json!({"machineRef": reference(&["apiGroup", "kind", "name"])});
    let expected = [
        r#"split: {field: spec.machineRef.apiVersion, into: [spec.machineRef.apiGroup, "_"], rest: v1beta1, separator: "/"}"#,
        "drop: {field: spec.machineRef.namespace, valueFrom: metadata.namespace}",
    ];
    check(older, newer, &expected);
}

#[test]
fn map_becomes_list_of_named_items() {
    let map = |value: Value| json!({"args": {"type": "object", "additionalProperties": value}});
    let items = list(object(json!({"name": text(), "value": text()})));
    let to_list = r#"value.map(k, {"name": k, "value": value[k]})"#;
    let to_map = "value.transformMapEntry(i, e, {e.name: e.value})";
    let expected = format!("compute: {{from: spec.args, to: spec.args, up: '{to_list}', down: \"{to_map}\"}}");
    check(map(text()), json!({"args": items}), &[&expected]);
    let expected = format!("compute: {{from: spec.args, to: spec.args, up: \"{to_map}\", down: '{to_list}'}}");
    check(json!({"args": items}), map(text()), &[&expected]);
    let copy = |from: &str| format!(r#""a": has({from}.a) ? {from}.a : null"#);
    let up = format!(r#"value.map(k, {{"name": k, {}}})"#, copy("value[k]"));
    let down = format!("value.transformMapEntry(i, e, {{e.name: {{{}}}}})", copy("e"));
    let expected = format!("compute: {{from: spec.args, to: spec.args, up: '{up}', down: '{down}'}}");
    let items = list(object(json!({"name": text(), "a": number()})));
    check(map(object(json!({"a": number()}))), json!({"args": items}), &[&expected]);
}

#[test]
fn object_of_item_moves_to_another() {
    let expected = ["spec.l -> spec.l [\"move: {from: strategy.repair, to: health.repair}\"]"];
    let limit = || object(json!({"maxInFlight": number()}));
    check(
        json!({"l": list(object(json!({"name": text(), "strategy": object(json!({"repair": limit(), "type": text()}))})))}),
        json!({"l": list(object(json!({"name": text(), "strategy": object(json!({"type": text()})),
               "health": object(json!({"repair": limit()}))})))}),
        &expected,
    );
}
