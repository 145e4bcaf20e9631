//! Random structural schemas.

use serde_json::{Map, Value as Schema, json};

use pointsman_core::laws::Random;
use pointsman_core::laws::schema::{flag, properties, requires};

/// Typical names, and difficult names: those of the head of an object, and names with dots and slashes.
const NAMES: [&str; 24] = [
    "size",
    "value",
    "name",
    "image",
    "kind",
    "metadata",
    "port",
    "mode",
    "backup",
    "net",
    "owner",
    "labels",
    "a.b",
    "x/y",
    "items",
    "key",
    "type",
    "spec",
    "status",
    "enabled",
    "tag",
    "host",
    "apiVersion",
    "é",
];

/// An unused name.
pub(super) fn fresh(random: &mut Random, taken: &dyn Fn(&str) -> bool) -> String {
    for _ in 0..20 {
        let name = random.word(&NAMES);
        if !taken(name) {
            return name.to_owned();
        }
    }
    let numbered = (1..).map(|number| format!("field{number}")).find(|name| !taken(name));
    numbered.unwrap_or_default()
}

/// A whole version: spec and status, and the fields that the API server defines for every object.
pub(super) fn version(random: &mut Random) -> Schema {
    let spec_fields = 3 + random.below(4);
    let spec = object(random, spec_fields, 2);
    let requires_spec = random.percent(30);
    let mut all = json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": spec,
        },
    });
    if random.percent(70)
        && let Some(properties) = all.get_mut("properties").and_then(Schema::as_object_mut)
    {
        let fields = 1 + random.below(3);
        properties.insert("status".to_owned(), object(random, fields, 1));
    }
    if requires_spec && let Some(all) = all.as_object_mut() {
        all.insert("required".to_owned(), json!(["spec"]));
    }
    all
}

/// An object with some properties.
fn object(random: &mut Random, count: usize, depth: usize) -> Schema {
    let mut all = Map::new();
    let mut required = Vec::new();
    for _ in 0..count {
        let name = fresh(random, &|name| all.contains_key(name));
        all.insert(name.clone(), property(random, depth));
        if random.percent(20) {
            required.push(json!(name));
        }
    }
    let mut object = json!({"type": "object", "properties": all});
    if let (false, Some(object)) = (required.is_empty(), object.as_object_mut()) {
        object.insert("required".to_owned(), Schema::Array(required));
    }
    object
}

/// Any property.
pub(super) fn property(random: &mut Random, depth: usize) -> Schema {
    let mut made = match random.below(if depth == 0 { 7 } else { 14 }) {
        0..3 => return scalar(random),
        3 => json!({"type": "string", "enum": ["Always", "Never", "IfNotPresent"]}),
        4 => json!({"x-kubernetes-int-or-string": true}),
        5 if random.percent(50) => json!({"x-kubernetes-preserve-unknown-fields": true}),
        5 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        6 => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        7 => {
            let item = if random.percent(25) {
                json!({"type": "string", "enum": ["Always", "Never"]})
            } else {
                scalar_without_default(random)
            };
            let mut list = json!({"type": "array", "items": item});
            if random.percent(30)
                && let Some(list) = list.as_object_mut()
            {
                list.insert("x-kubernetes-list-type".to_owned(), json!("set"));
            }
            list
        }
        8 | 9 => list_of_objects(random, depth),
        10 => {
            let count = 1 + random.below(3);
            json!({"type": "object", "additionalProperties": object(random, count, depth - 1)})
        }
        11 => json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        _ => {
            let count = 1 + random.below(3);
            object(random, count, depth - 1)
        }
    };
    decorate(random, &mut made);
    made
}

fn list_of_objects(random: &mut Random, depth: usize) -> Schema {
    let count = 1 + random.below(3);
    let mut item = object(random, count, depth - 1);
    let keyed = random.percent(50);
    if keyed || random.percent(40) {
        super::paths::take(&mut item, &["name".to_owned()]);
        super::paths::put(&mut item, &["name".to_owned()], json!({"type": "string"}), true);
    }
    let mut list = json!({"type": "array", "items": item});
    if let (true, Some(list)) = (keyed, list.as_object_mut()) {
        list.insert("x-kubernetes-list-type".to_owned(), json!("map"));
        list.insert("x-kubernetes-list-map-keys".to_owned(), json!(["name"]));
    }
    list
}

/// Bounds the number of fields of some objects and maps.
pub(super) fn bound_counts(random: &mut Random, schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    let is_object = members.get("type").and_then(Schema::as_str) == Some("object");
    if is_object && members.get("default").is_none() && random.percent(6) {
        members.insert(random.word(&["minProperties", "maxProperties"]).to_owned(), json!(1 + random.below(2)));
    }
    for place in ["items", "additionalProperties"] {
        if let Some(inner) = members.get_mut(place) {
            bound_counts(random, inner);
        }
    }
    for inner in members.get_mut("properties").and_then(Schema::as_object_mut).into_iter().flat_map(Map::values_mut) {
        bound_counts(random, inner);
    }
}

/// A string, number or boolean.
pub(super) fn scalar(random: &mut Random) -> Schema {
    let mut made = scalar_without_default(random);
    decorate(random, &mut made);
    made
}

fn scalar_without_default(random: &mut Random) -> Schema {
    match random.below(9) {
        0..3 => json!({"type": "string"}),
        3 => json!({"type": "string", "maxLength": 12}),
        4 => json!({"type": "string", "minLength": 1}),
        5 => json!({"type": "integer"}),
        6 => json!({"type": "integer", "minimum": 1, "maximum": 65535}),
        7 => json!({"type": "number"}),
        _ => json!({"type": "boolean"}),
    }
}

/// Makes some schemas nullable, and gives some a default.
fn decorate(random: &mut Random, schema: &mut Schema) {
    let nullable = random.percent(12);
    let default = random.percent(18).then(|| sample(schema)).flatten();
    let Some(object) = schema.as_object_mut() else { return };
    if nullable {
        object.insert("nullable".to_owned(), json!(true));
    }
    if let Some(default) = default {
        object.insert("default".to_owned(), default);
    }
}

/// A valid value for a schema.
pub(super) fn sample(schema: &Schema) -> Option<Schema> {
    if let Some(options) = schema.get("enum").and_then(Schema::as_array) {
        return options.first().cloned();
    }
    if flag(schema, "x-kubernetes-int-or-string") {
        return Some(json!("80%"));
    }
    match schema.get("type").and_then(Schema::as_str)? {
        "string" => Some(json!("auto")),
        "integer" => Some(json!(8080)),
        "number" => Some(json!(1.5)),
        "boolean" => Some(json!(true)),
        "array" => Some(json!([])),
        _ => {
            let missing = |(name, inner): (&String, &Schema)| requires(schema, name) && inner.get("default").is_none();
            (!properties(schema).any(missing)).then(|| json!({}))
        }
    }
}
