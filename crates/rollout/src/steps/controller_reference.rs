//! Owner references.

use serde_json::{Map, Value, json};

use super::observed_object::text;
use crate::lookup::request::PairedKind;

/// The index of the owner reference to a uid.
pub(super) fn place(object: &Value, uid: &str) -> Option<usize> {
    references(object).position(|reference| text(reference, "/uid") == uid)
}

/// The controller of an object: title and uid.
pub(super) fn controller(object: &Value) -> Option<(String, &str)> {
    let reference = references(object).find(|reference| reference.get("controller") == Some(&json!(true)))?;
    Some((format!("{} {}", text(reference, "/kind"), text(reference, "/name")), text(reference, "/uid")))
}

/// A JSON Patch that changes the owner in a reference and keeps the rest of it.
pub(super) fn hand_over(object: &Value, from: &str, to: (&PairedKind, &str, &str)) -> Option<Value> {
    let at = place(object, from)?;
    let path = format!("/metadata/ownerReferences/{at}");
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": text(object, "/metadata/uid")}),
        json!({"op": "test", "path": format!("{path}/uid"), "value": from}),
    ];
    let (kind, name, uid) = to;
    if place(object, uid).is_some() {
        patch.push(json!({"op": "remove", "path": path}));
        return Some(Value::Array(patch));
    }
    let mut reference = references(object).nth(at).and_then(Value::as_object).cloned().unwrap_or_default();
    let members: Map<String, Value> = Map::from_iter([
        ("apiVersion".to_owned(), json!(kind.api_version)),
        ("kind".to_owned(), json!(kind.kind)),
        ("name".to_owned(), json!(name)),
        ("uid".to_owned(), json!(uid)),
    ]);
    reference.extend(members);
    patch.push(json!({"op": "replace", "path": path, "value": reference}));
    Some(Value::Array(patch))
}

fn references(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}
