//! Random writes for the admission rules, with null, empty and missing fields before and after, and kinds for each
//! rule. The tests on a real API server use them as well.

use pointsman_core::definition::Kind;
use pointsman_core::laws::Random;
use pointsman_core::webhook::Webhook;
use serde_json::{Map, Value, json};

/// An object before and after a write.
pub(crate) struct Write {
    pub(crate) old: Option<Value>,
    pub(crate) new: Value,
}

/// The write with this number at a version (group, version, kind) of the schema.
pub(crate) fn write([group, version, kind]: [&str; 3], schema: &Value, number: u64) -> Write {
    let object = |spec: Option<Value>, note: bool| {
        let mut object = json!({"apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": "o"}});
        if note {
            object["metadata"]["labels"] = json!({"app": "x"});
        }
        if let Some(spec) = spec {
            object["spec"] = spec;
        }
        object
    };
    let spec = &schema["properties"]["spec"];
    let random = &mut Random::new(number);
    let before = random.percent(95).then(|| value(spec, random));
    let after = match (&before, random.below(8)) {
        (_, 0) => None,
        (Some(before), 1..=5) => Some(changed(before, spec, random)),
        (before, 6) => before.clone(),
        (_, _) => Some(value(spec, random)),
    };
    let old = random.percent(85).then(|| object(before, false));
    Write { old, new: object(after, random.percent(20)) }
}

/// The rules of `/validate` that reject a write, except rules that no schema can express.
pub(crate) fn judged(webhook: &Webhook, old: Option<&Value>, new: &Value) -> Vec<String> {
    let old = old.map(Value::to_string);
    let (judgement, _) = webhook.judge(&new.to_string(), old.as_deref()).unwrap();
    let denied = judgement.verdicts.into_iter().filter(|verdict| verdict.effect == "deny");
    denied.map(|verdict| verdict.rule).filter(|rule| !rule.starts_with("upgrade:")).collect()
}

/// A value that the schema accepts, or `None`. Few distinct values, so that old and new values often match and rules
/// are often violated.
fn value(schema: &Value, random: &mut Random) -> Value {
    if schema["nullable"] == true && random.percent(20) {
        return Value::Null;
    }
    if let Some(options) = schema["enum"].as_array() {
        return random.pick(options).cloned().unwrap_or_default();
    }
    let uuid = "aaaaaaaa-2222-4222-8222-222222222222";
    match schema["type"].as_str() {
        Some("object") => {
            let mut members = Map::new();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let validated = property.to_string().contains("x-kubernetes-validations");
                let chance = if required.iter().any(|required| required == name) {
                    100
                } else if validated {
                    75
                } else {
                    45
                };
                if random.percent(chance) {
                    members.insert(name.clone(), value(property, random));
                }
            }
            if schema["additionalProperties"].is_object() && random.percent(50) {
                members.insert("key".to_owned(), value(&schema["additionalProperties"], random));
            }
            Value::Object(members)
        }
        Some("array") => (0..random.below(3)).map(|_| value(&schema["items"], random)).collect(),
        Some("boolean") => json!(random.percent(50)),
        Some("integer") => {
            let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
            json!(random.pick(&[-1, 0, 1, 2, 3, 9, 10, 65535, 65536]).copied().unwrap_or(least).max(least))
        }
        Some("number") => json!(1.5),
        Some("string") if schema["format"] == "uuid" => {
            let nil = "00000000-0000-0000-0000-000000000000";
            let spelled = [uuid.to_owned(), uuid.to_uppercase(), uuid.replace('-', ""), nil.to_owned(), String::new()];
            json!(random.pick(&[&spelled[..], &["bbbbbbbb-2222-4222-8222-222222222222".to_owned()]].concat()))
        }
        Some("string") => json!(random.pick(&["", "x", "X", "1h", "1h30m", ".5s", "1 h", "+0", "-1ms", "1µs", uuid])),
        _ => json!("500m"),
    }
}

/// The value with one change at some depth.
fn changed(old: &Value, schema: &Value, random: &mut Random) -> Value {
    let properties = schema["properties"].as_object();
    let (Some(members), Some(properties)) = (old.as_object(), properties) else {
        return value(schema, random);
    };
    if random.percent(10) {
        return value(schema, random);
    }
    let mut members = members.clone();
    let names: Vec<&String> = properties.keys().collect();
    for _ in 0..=random.below(2) {
        let Some(name) = random.pick(&names).copied() else { break };
        let required = schema["required"].as_array().is_some_and(|required| required.contains(&json!(name)));
        let property = &properties[name];
        match random.below(4) {
            0 if !required => drop(members.remove(name)),
            1 if property["nullable"] == true => drop(members.insert(name.clone(), Value::Null)),
            _ => {
                let new = match members.get(name) {
                    Some(old) => changed(old, property, random),
                    None => value(property, random),
                };
                members.insert(name.clone(), new);
            }
        }
    }
    Value::Object(members)
}

/// A kind of a group with two versions and these spec fields; `RENAMED` is named `old` in the older version.
pub(crate) fn ours(fields: &str, rules: &str, group: &str) -> Kind {
    try_ours(fields, rules, group).unwrap_or_else(|error| panic!("{error}"))
}

/// Same as [`ours`], but returns the load error.
pub(crate) fn try_ours(fields: &str, rules: &str, group: &str) -> Result<Kind, String> {
    let schema = |fields: &str| {
        format!("{{type: object, properties: {{spec: {{type: object, nullable: true, properties: {{{fields}}}}}}}}}")
    };
    let version = |name: &str, storage: bool, fields: &str| {
        let schema = schema(fields);
        format!("  - {{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {schema}}}}}\n")
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\n\
         spec:\n  group: {group}\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  versions:\n{}{}",
        version("v1", false, &fields.replace("RENAMED", "old")),
        version("v2", true, fields)
    );
    let operations =
        if fields.contains("RENAMED") { "  operations: [{rename: {from: spec.old, to: spec.RENAMED}}]\n" } else { "" };
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n- from: v1\n  to: v2\n{operations}\
         admission: {{rules: [{rules}]}}\n"
    );
    Kind::from_crd(&definition, &crd).map_err(|error| format!("{error}\n{crd}\n{definition}"))
}

/// Spec fields, and their rules.
pub(crate) const OURS: [(&str, &str); 10] = [
    ("size: {type: integer}", "{range: {field: spec.size, min: 1, max: 9}}"),
    (
        "net: {type: object, nullable: true, properties: {port: {type: integer, nullable: true}}}",
        "{range: {field: spec.net.port, max: 65535}}",
    ),
    (
        "RENAMED: {type: object, nullable: true, properties: {names: {type: array, nullable: true, items: {type: string}}, \
         text: {type: string, nullable: true}, other: {type: string}}}",
        "{requires: {field: spec.RENAMED, needs: [names, text]}}",
    ),
    (
        "tls: {type: object, properties: {issuer: {type: object, nullable: true, properties: {name: {type: string}, \
         kind: {type: string, nullable: true}}}, labels: {type: object, additionalProperties: {type: string}}, \
         size: {type: integer, nullable: true}, on: {type: boolean}}}",
        "{requires: {field: spec.tls, needs: [issuer, labels, size, on]}}",
    ),
    (
        "tls: {type: object, nullable: true, properties: {renewal: {type: string, nullable: true}}}, wait: {type: string}",
        "{duration: {field: spec.tls.renewal}}, {duration: {field: spec.wait}}",
    ),
    (
        "net: {type: object, nullable: true, properties: {inner: {type: object, nullable: true, \
         properties: {id: {type: string, nullable: true}, note: {type: string}}}}}",
        "{immutable: {field: spec.net.inner.id}}",
    ),
    (
        "RENAMED: {type: string, format: uuid, nullable: true}",
        "{immutable: {field: spec.RENAMED, unset: [00000000-0000-0000-0000-000000000000]}}",
    ),
    (
        "count: {type: integer, nullable: true}, on: {type: boolean}, text: {type: string}",
        "{immutable: {field: spec.count, unset: [0]}}, {immutable: {field: spec.on, unset: [false]}}, \
         {immutable: {field: spec.text, unset: [\"\"]}}",
    ),
    (
        "in: {type: object, properties: {foo-bar: {type: string}, a__b: {type: integer}}}",
        "{immutable: {field: spec.in.foo-bar}}, {range: {field: spec.in.a__b, min: 0}}, \
         {requires: {field: spec.in, needs: [foo-bar]}}",
    ),
    (
        "a: {type: object, nullable: true, properties: {b: {type: object, nullable: true, properties: {c: {type: string}, \
         d: {type: array, items: {type: integer}}}}, id: {type: string}}}",
        "{requires: {field: spec.a, needs: [b]}}, {requires: {field: spec.a.b, needs: [c, d]}}, \
         {immutable: {field: spec.a.id}}, {immutable: {field: spec.a.b.c}}",
    ),
];
