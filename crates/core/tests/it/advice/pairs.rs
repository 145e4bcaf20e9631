//! Random pairs of schemas: a version, and the same version after some changes.

use pointsman_core::laws::Random;
use pointsman_test_support::random_kinds::{Draft, Manner};
use serde_json::{Map, Value, json};

/// A CRD of two versions.
pub(super) fn crd(seed: u64) -> Value {
    let mut random = Random::new(seed ^ 0xAD71CE);
    let mut crd = Draft::random(seed, Manner::Sensible).crd;
    let versions = crd["spec"]["versions"].as_array_mut().unwrap();
    versions.truncate(1);
    versions[0]["storage"] = json!(true);
    let mut newer = versions[0].clone();
    newer["name"] = json!("v2");
    newer["storage"] = json!(false);
    let changes = 1 + random.below(6);
    for _ in 0..changes {
        let mut objects = Vec::new();
        let root = &mut newer["schema"]["openAPIV3Schema"]["properties"];
        for (name, schema) in root.as_object_mut().unwrap() {
            if matches!(name.as_str(), "spec" | "status") {
                collect(schema, &mut objects);
            }
        }
        let at = random.below(objects.len());
        if let Some(object) = objects.into_iter().nth(at) {
            change(&mut random, object);
        }
    }
    versions.push(newer);
    crd
}

/// The objects of a schema, outermost first. Each object is moved out of its parents: they are changed in turn.
fn collect<'s>(schema: &'s mut Value, found: &mut Vec<&'s mut Value>) {
    // Some objects are changed from outside, others from inside.
    let is_leaf = schema.get("properties").is_none_or(|properties| {
        properties.as_object().unwrap().values().all(|inner| {
            inner.get("properties").is_none()
                && inner.get("items").is_none()
                && inner.get("additionalProperties").is_none()
        })
    });
    let is_object = schema.get("properties").is_some();
    if is_object && (is_leaf || found.len().is_multiple_of(2)) {
        found.push(schema);
        return;
    }
    let Some(members) = schema.as_object_mut() else { return };
    for (key, inner) in members {
        match key.as_str() {
            "properties" => inner.as_object_mut().unwrap().values_mut().for_each(|inner| collect(inner, found)),
            "items" | "additionalProperties" => collect(inner, found),
            _ => {}
        }
    }
}

/// Changes one field of an object, or adds or removes a field.
fn change(random: &mut Random, object: &mut Value) {
    let names: Vec<String> = object["properties"].as_object().unwrap().keys().cloned().collect();
    let name = random.pick(&names).cloned().unwrap_or_else(|| "size".to_owned());
    let fields = object["properties"].as_object_mut().unwrap();
    match random.below(12) {
        0 => _ = fields.insert(format!("{name}2"), field(random)),
        1 => remove(object, &name),
        2 => {
            if let Some(moved) = fields.remove(&name) {
                fields.insert(format!("{name}s"), moved);
                unrequire(object, &name);
            }
        }
        3 => _ = fields.insert(name, field(random)),
        4 => require(object, &name),
        5 => unrequire(object, &name),
        6 | 7 => keyword(random, fields, &name),
        8 => {
            if let Some(schema) = fields.get_mut(&name).and_then(Value::as_object_mut)
                && schema.remove("nullable").is_none()
            {
                schema.insert("nullable".to_owned(), json!(true));
            }
        }
        9 => {
            if let Some(schema) = fields.get_mut(&name).and_then(Value::as_object_mut) {
                let default = match schema.get("type").and_then(Value::as_str) {
                    Some("string") if !schema.contains_key("enum") => json!("other"),
                    Some("integer") => json!(4000),
                    Some("boolean") => json!(false),
                    _ => return,
                };
                if schema.remove("default").is_none() {
                    schema.insert("default".to_owned(), default);
                }
            }
        }
        10 => {
            if let Some(moved) = fields.remove(&name) {
                let list = json!({"type": "array", "items": without_default(moved)});
                fields.insert(name, list);
            }
        }
        _ => {
            if let Some(moved) = fields.remove(&name) {
                unrequire(object, &name);
                let inner: Map<String, Value> = [(name.clone(), moved)].into_iter().collect();
                object["properties"]["group"] = json!({"type": "object", "properties": inner});
            }
        }
    }
}

fn without_default(mut schema: Value) -> Value {
    schema.as_object_mut().unwrap().remove("default");
    schema
}

fn remove(object: &mut Value, name: &str) {
    object["properties"].as_object_mut().unwrap().remove(name);
    unrequire(object, name);
}

fn required(object: &mut Value) -> &mut Vec<Value> {
    let members = object.as_object_mut().unwrap();
    members.entry("required").or_insert_with(|| json!([])).as_array_mut().unwrap()
}

fn require(object: &mut Value, name: &str) {
    let is_known = object["properties"].get(name).is_some();
    let required = required(object);
    if is_known && !required.contains(&json!(name)) {
        required.push(json!(name));
    }
}

fn unrequire(object: &mut Value, name: &str) {
    required(object).retain(|other| other != name);
}

/// A bound, an enum, a format or a pattern.
fn keyword(random: &mut Random, fields: &mut Map<String, Value>, name: &str) {
    let Some(schema) = fields.get_mut(name).and_then(Value::as_object_mut) else { return };
    if schema.contains_key("default") {
        return;
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (key, value) = match kind.as_str() {
        "string" if schema.contains_key("enum") => ("enum", json!(["Always", "Sometimes"])),
        "string" => random
            .pick(&[
                ("pattern", json!("^[a-z]+$")),
                ("maxLength", json!(20)),
                ("minLength", json!(3)),
                ("format", json!("date-time")),
                ("enum", json!(["small", "large"])),
            ])
            .cloned()
            .unwrap(),
        "integer" | "number" => random.pick(&[("minimum", json!(2)), ("maximum", json!(99))]).cloned().unwrap(),
        "array" => random.pick(&[("maxItems", json!(9)), ("minItems", json!(1))]).cloned().unwrap(),
        "object" => ("x-kubernetes-validations", json!([{"rule": "self != oldSelf", "message": "no"}])),
        _ => return,
    };
    schema.insert(key.to_owned(), value);
}

/// A field of any type.
fn field(random: &mut Random) -> Value {
    let inner = json!({"a": {"type": "string"}, "b": {"type": "integer", "minimum": 1}});
    let all = [
        json!({"type": "string"}),
        json!({"type": "string", "pattern": "^[a-z]+$"}),
        json!({"type": "integer"}),
        json!({"type": "boolean"}),
        json!({"type": "number"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"type": "object", "properties": inner, "required": ["b"]}),
        json!({"type": "array", "items": {"type": "object", "properties": inner}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "array", "items": {"type": "string"}}),
    ];
    random.pick(&all).cloned().unwrap()
}
