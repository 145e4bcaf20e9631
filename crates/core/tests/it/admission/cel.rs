//! The rules in the CRD and the rules of `/validate` are one source, so they give one verdict: what is printed is
//! evaluated as the API server evaluates it (`apiextensions-apiserver pkg/apiserver/schema/cel/validation.go`), over
//! objects before and after a write with null, empty and missing fields.
//!
//! `POINTSMAN_CASES` says how many writes for each version of each kind:
//! `POINTSMAN_CASES=100000 cargo test --release -p pointsman-core --test it printed_rules`.

use std::collections::HashMap;
use std::sync::Arc;

use cel::extractors::This;
use cel::{Context, Program, Value as Cel};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{CrdOptions, crd};
use pointsman_core::webhook::{Enforcement, Webhook};
use serde_json::{Map, Value, json};

use super::objects::{Random, cases};
use super::{embedded, plain};

/// A rule of a schema, compiled once.
struct Compiled {
    text: String,
    program: Program,
    needs_old: bool,
    optional_old: bool,
}

/// A place of a schema with the rules that stand there.
struct Place {
    schema: Value,
    rules: Vec<Compiled>,
    properties: Vec<(String, Self)>,
}

impl Place {
    fn new(schema: &Value) -> Self {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten().map(|rule| {
            let text = rule["rule"].as_str().unwrap().to_owned();
            // The library has no optional values.
            let plain = text.replace("oldSelf.hasValue()", "hasOld");
            // Out of an optional value comes bare JSON, in which a null is something: no rule may look into it.
            assert!(!text.contains("oldSelf.value") && !text.contains("oldSelf.opt"), "{text}");
            let program = Program::compile(&plain).unwrap_or_else(|error| panic!("{text}: {error}"));
            let optional_old = rule["optionalOldSelf"] == true;
            Compiled { program, needs_old: text.contains("oldSelf"), optional_old, text }
        });
        let properties = schema["properties"].as_object().into_iter().flatten();
        Self {
            rules: rules.collect(),
            schema: schema.clone(),
            properties: properties.map(|(name, schema)| (name.clone(), Self::new(schema))).collect(),
        }
    }

    /// The rules that refuse a write. Those of a null are not asked. What is as it was is let pass, unless a rule looks
    /// back or fails.
    fn refused(&self, old: Option<&Value>, new: Option<&Value>, refused: &mut Vec<String>) {
        let Some(new) = new.filter(|new| !new.is_null()) else { return };
        let old = old.filter(|old| !old.is_null());
        for Compiled { text, program, needs_old, optional_old } in &self.rules {
            if *needs_old && old.is_none() && !optional_old {
                continue;
            }
            let mut context = context();
            context.add_variable_from_value("self", to_cel(new, &self.schema));
            context.add_variable_from_value("hasOld", old.is_some());
            if let Some(old) = old {
                context.add_variable_from_value("oldSelf", to_cel(old, &self.schema));
            }
            match program.execute(&context) {
                Ok(Cel::Bool(true)) => {}
                Ok(Cel::Bool(false)) if !needs_old && old == Some(new) => {}
                Ok(Cel::Bool(false)) => refused.push(text.clone()),
                other => refused.push(format!("{text} fails: {other:?}")),
            }
        }
        for (name, place) in &self.properties {
            place.refused(old.and_then(|old| old.get(name)), new.get(name), refused);
        }
    }
}

fn context() -> Context<'static, 'static> {
    let mut context = Context::default();
    let _ = context.add_function("lowerAscii", |This(text): This<Arc<String>>| text.to_ascii_lowercase());
    let _ = context.add_function("replace", |This(text): This<Arc<String>>, from: Arc<String>, to: Arc<String>| {
        text.replace(from.as_str(), &to)
    });
    context
}

/// A value as the API server hands it to CEL (`apiserver pkg/cel/common/valuesunstructured.go`): in an object that
/// names its properties a null is as good as nothing, and what it does not name is not there.
fn to_cel(value: &Value, schema: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => number.as_i64().map_or_else(|| Cel::Float(number.as_f64().unwrap()), Cel::Int),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(|item| to_cel(item, &schema["items"])).collect())),
        Value::Object(members) => {
            let names = schema["properties"].as_object();
            let members = members.iter().filter_map(|(name, value)| match names {
                Some(names) => {
                    let schema = names.get(name).filter(|_| !value.is_null())?;
                    Some((escaped(name), to_cel(value, schema)))
                }
                None => Some((name.clone(), to_cel(value, &schema["additionalProperties"]))),
            });
            Cel::from(members.collect::<HashMap<String, Cel>>())
        }
    }
}

/// How CEL names a property (`apiserver pkg/cel/escaping.go`).
fn escaped(name: &str) -> String {
    let name = name.replace("__", "__underscores__").replace('.', "__dot__");
    let name = name.replace('-', "__dash__").replace('/', "__slash__");
    if ["in", "for", "namespace"].contains(&name.as_str()) { format!("__{name}__") } else { name }
}

/// A value that the schema admits, or none. With few values, so that old and new meet, and rules are broken often.
fn value(schema: &Value, random: &mut Random) -> Value {
    if schema["nullable"] == true && random.percent(20) {
        return Value::Null;
    }
    if let Some(options) = schema["enum"].as_array() {
        return random.pick(options).clone();
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
        Some("array") => (0..random.next() % 3).map(|_| value(&schema["items"], random)).collect(),
        Some("boolean") => json!(random.percent(50)),
        Some("integer") => {
            let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
            json!((*random.pick(&[-1, 0, 1, 2, 3, 9, 10, 65535, 65536])).max(least))
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

/// The same value with something changed in it, at some depth.
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
    for _ in 0..=random.next() % 2 {
        let name = *random.pick(&names);
        let required = schema["required"].as_array().is_some_and(|required| required.contains(&json!(name)));
        let property = &properties[name];
        match random.next() % 4 {
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

/// The rules of `/validate` that refuse a write, without those that no schema can say.
fn judged(webhook: &Webhook, old: Option<&Value>, new: &Value) -> Vec<String> {
    let old = old.map(Value::to_string);
    let (judgement, _) = webhook.judge(&new.to_string(), old.as_deref()).unwrap();
    let denied = judgement.verdicts.into_iter().filter(|verdict| verdict.effect == "deny");
    denied.map(|verdict| verdict.rule).filter(|rule| !rule.starts_with("upgrade:")).collect()
}

/// Gives one version's writes to both.
fn compare(kind: Kind, version: &str, writes: u64) -> [usize; 2] {
    let printed = crd(&kind, &CrdOptions::default()).unwrap();
    let (name, group, kind_name) = (kind.name().to_owned(), kind.group().to_owned(), kind.kind().to_owned());
    let webhook = plain(kind, Enforcement::Enforce);
    let versions = printed["spec"]["versions"].as_array().unwrap();
    let schema = &versions.iter().find(|found| found["name"] == version).unwrap()["schema"]["openAPIV3Schema"];
    let place = Place::new(schema);
    let object = |spec: Option<Value>, status: Option<Value>, note: bool| {
        let mut object =
            json!({"apiVersion": format!("{group}/{version}"), "kind": kind_name, "metadata": {"name": "o"}});
        if note {
            object["metadata"]["labels"] = json!({"app": "x"});
        }
        for (name, value) in [("spec", spec), ("status", status)] {
            if let Some(value) = value {
                object[name] = value;
            }
        }
        object
    };
    let spec = &schema["properties"]["spec"];
    let mut counts = [0, 0];
    for case in 0..writes {
        let random = &mut Random::new(case);
        let before = random.percent(95).then(|| value(spec, random));
        let after = match (&before, random.next() % 8) {
            (_, 0) => None,
            (Some(before), 1..=5) => Some(changed(before, spec, random)),
            (before, 6) => before.clone(),
            (_, _) => Some(value(spec, random)),
        };
        let old = random.percent(85).then(|| object(before, None, false));
        let new = object(after, None, random.percent(20));
        let mut refused = Vec::new();
        place.refused(old.as_ref(), Some(&new), &mut refused);
        let judged = judged(&webhook, old.as_ref(), &new);
        assert_eq!(
            refused.is_empty(),
            judged.is_empty(),
            "{name} {version}, case {case}\nold {}\nnew {new}\nthe CRD refuses for {refused:#?}\n/validate for {judged:#?}",
            old.map_or_else(|| "-".to_owned(), |old| old.to_string()),
        );
        counts[usize::from(refused.is_empty())] += 1;
    }
    counts
}

#[test]
fn printed_rules_and_validate_give_one_verdict() {
    let mut kinds: Vec<(String, Box<dyn Fn() -> Kind>)> =
        ["materialize", "elasticsearch"].map(|name| (name.to_owned(), Box::new(move || embedded(name)) as _)).into();
    for (index, (fields, rules)) in OURS.into_iter().enumerate() {
        kinds.push((format!("ours {index}"), Box::new(move || ours(fields, rules))));
    }
    for (name, kind) in kinds {
        let versions: Vec<String> = kind().versions().map(str::to_owned).collect();
        for version in versions {
            let [refused, allowed] = compare(kind(), &version, cases(300));
            println!("{name} {version}: {refused} refused, {allowed} allowed");
            assert!(allowed > 20 && (refused > 2 || name == "elasticsearch"), "{name} {version}: {refused} {allowed}");
        }
    }
}

/// A kind of two versions with these fields in its spec, `RENAMED` being called `old` in the older one.
fn ours(fields: &str, rules: &str) -> Kind {
    let schema = |fields: &str| {
        format!("{{type: object, properties: {{spec: {{type: object, nullable: true, properties: {{{fields}}}}}}}}}")
    };
    let version = |name: &str, storage: bool, fields: &str| {
        let schema = schema(fields);
        format!("  - {{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {schema}}}}}\n")
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  versions:\n{}{}",
        version("v1", false, &fields.replace("RENAMED", "old")),
        version("v2", true, fields)
    );
    let operations =
        if fields.contains("RENAMED") { "  operations: [{rename: {from: spec.old, to: spec.RENAMED}}]\n" } else { "" };
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n- from: v1\n  to: v2\n{operations}\
         admission: {{rules: [{rules}]}}\n"
    );
    Kind::from_crd(&definition, &crd).unwrap_or_else(|error| panic!("{error}\n{crd}\n{definition}"))
}

/// Fields of a spec, and the rules about them.
const OURS: [(&str, &str); 10] = [
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
