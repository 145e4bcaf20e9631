//! A small editable object of a kind.

use pointsman_core::definition::Kind;
use serde_json::Value;

use crate::commands::json_tree::JsonTree;

/// An object with the required fields of its schema, and its first fields with simple values. It may violate a rule or
/// a pattern.
pub(super) fn sample(kind: &Kind, version: &str, schema: &Value) -> JsonTree {
    let spec = schema.pointer("/properties/spec").map(|spec| object(spec, SOME));
    let mut sample = JsonTree::object([
        ("apiVersion", JsonTree::string(format!("{}/{version}", kind.group()))),
        ("kind", JsonTree::string(kind.kind())),
        ("metadata", JsonTree::object([("name", JsonTree::string("example"))])),
    ]);
    if let Some(spec) = spec {
        sample.set("spec", spec);
    }
    sample
}

/// The required fields of an object, and some simple ones.
fn object(schema: &Value, plain: usize) -> JsonTree {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut left = plain;
    let fields = properties.filter_map(|(name, schema)| {
        let wanted = required.contains(&name.as_str()) || (is_plain(schema) && left > 0);
        left = left.saturating_sub(usize::from(wanted));
        wanted.then(|| (name.clone(), value(schema)))
    });
    JsonTree::Object(fields.collect())
}

/// Returns whether a schema has a simple type without a pattern.
fn is_plain(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    matches!(kind, "string" | "integer" | "boolean" | "number") && schema.get("pattern").is_none()
}

fn value(schema: &Value) -> JsonTree {
    let given = schema.get("default").or_else(|| schema.get("enum")?.as_array()?.first());
    if let Some(given) = given.and_then(|value| JsonTree::from_json(&value.to_string()).ok()) {
        return given;
    }
    let number = |name: &str| schema.get(name).and_then(Value::as_number).map(ToString::to_string);
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => JsonTree::string(text(schema)),
        Some("integer" | "number") => JsonTree::Number(number("minimum").unwrap_or_else(|| "1".to_owned())),
        Some("boolean") => JsonTree::Bool(true),
        Some("array") => JsonTree::Array(Vec::new()),
        _ => object(schema, 0),
    }
}

/// A text of the required format (`apiextensions-apiserver pkg/apis/apiextensions/v1/types_jsonschema.go`).
fn text(schema: &Value) -> &'static str {
    match schema.get("format").and_then(Value::as_str) {
        Some("uuid" | "uuid3" | "uuid4" | "uuid5") => "11111111-1111-4111-8111-111111111111",
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("byte") => "dGV4dA==",
        Some("uri") => "https://example.com",
        Some("ipv4") => "192.0.2.1",
        _ => "text",
    }
}

/// The maximum number of simple fields.
const SOME: usize = 8;
