//! Bodies generated from the schemas of a kind, with any contents in its lists, maps and fields.

use std::fmt::Write as _;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::Endpoint;
use serde_json::{Map, Value, json};

/// A body.
pub(crate) struct Hostile {
    pub(crate) name: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) body: String,
}

/// One object in one version of a kind, with one part as long as `size`; its description, the object, and the other
/// versions.
pub(crate) struct HostileObject {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The version of the object.
    pub(crate) at: String,
    pub(crate) others: Vec<String>,
}

/// All bodies of about `size` bytes, each with one filled location of the kind.
pub(crate) fn bodies(kind: &Kind, size: usize) -> Vec<Hostile> {
    let mut all = Vec::new();
    for HostileObject { name, text, others, .. } in objects(kind, size) {
        for to in others {
            let (name, body) = (format!("{name}, to {to}"), review(&text, &format!("{}/{to}", kind.group())));
            all.push(Hostile { name, endpoint: Endpoint::Convert, body });
        }
        let old = text.replacen("\"metadata\":{", "\"metadata\":{\"labels\":{\"a\":\"b\"},", 1);
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let body = admission(kind, &text, &old);
            all.push(Hostile { name: format!("{name}, {endpoint:?}"), endpoint, body });
        }
    }
    all
}

/// The objects for [`bodies`].
pub(crate) fn objects(kind: &Kind, size: usize) -> Vec<HostileObject> {
    let versions = kind.crd()["spec"]["versions"].as_array().unwrap();
    let mut all = Vec::new();
    for version in versions {
        let (name, schema) = (version["name"].as_str().unwrap(), &version["schema"]["openAPIV3Schema"]);
        let at = name.to_owned();
        let others: Vec<String> = kind.versions().filter(|other| *other != name).map(str::to_owned).collect();
        let mut places = Vec::new();
        find(schema, size / 2, &mut Vec::new(), &mut places);
        for (way, schema) in &places {
            for (what, text) in fillings(schema, size) {
                for complete in [false, true] {
                    let text = object(kind, version, way, &text, complete);
                    let form = if complete { "complete" } else { "sparse" };
                    let name = format!("{} {name}, {form}: {what} as {}", kind.name(), spelled(way));
                    all.push(HostileObject { name, text, at: at.clone(), others: others.clone() });
                }
            }
        }
    }
    all
}

/// A field outside every schema.
const UNKNOWN: &str = "nobodyKnows";

/// One step on the path from an object to a location inside.
#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Element,
    /// A map value, under a key of this many bytes.
    Entry(usize),
}

fn spelled(way: &[Step]) -> String {
    let mut text = String::new();
    for step in way {
        _ = match step {
            Step::Field(name) => write!(text, ".{name}"),
            Step::Element => write!(text, "[]"),
            Step::Entry(length) => write!(text, "{{{length}}}"),
        };
    }
    text
}

/// All locations of a schema outside metadata, each with its schema; locations in maps also under a key of `long`
/// bytes, and in each object one unknown field.
fn find<'s>(schema: &'s Value, long: usize, way: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, &'s Value)>) {
    if !way.is_empty() {
        found.push((way.clone(), schema));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if way.is_empty() && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        way.push(Step::Field(name.clone()));
        find(field, long, way, found);
        way.pop();
    }
    if schema["properties"].is_object() {
        way.push(Step::Field(UNKNOWN.to_owned()));
        found.push((way.clone(), &Value::Null));
        way.pop();
    }
    if schema["items"].is_object() {
        way.push(Step::Element);
        find(&schema["items"], long, way, found);
        way.pop();
    }
    if schema["additionalProperties"].is_object() {
        for length in [1, long] {
            way.push(Step::Entry(length));
            find(&schema["additionalProperties"], long, way, found);
            way.pop();
        }
    }
}

/// Contents for a location with about this length.
fn fillings(schema: &Value, size: usize) -> Vec<(String, String)> {
    let mut all = Vec::new();
    match schema["type"].as_str() {
        Some("array") => {
            for (what, item) in items(&schema["items"]) {
                all.push((format!("a list of {what}"), format!("[{}]", repeated(&item, size))));
            }
        }
        Some("object") if schema["additionalProperties"].is_object() => {
            for (what, item) in items(&schema["additionalProperties"]) {
                all.push((format!("a map of {what}"), format!("{{{}}}", members(&item, size))));
            }
        }
        Some("object") => all.push(("an object of anything".to_owned(), format!("{{{}}}", members("0", size)))),
        Some("string") => {
            all.push(("a string".to_owned(), format!("\"{}\"", "a".repeat(size))));
            all.push(("a string of escapes".to_owned(), format!("\"{}\"", "\\u0000".repeat(size / 6))));
            all.push(("a string of quotes".to_owned(), format!("\"{}\"", "\\\"".repeat(size / 2))));
        }
        _ => all.push(("a number".to_owned(), "1".repeat(size))),
    }
    // Values outside the schema are included: they were stored earlier, or the API server does not validate them.
    all.push(("many of nothing".to_owned(), format!("[{}]", repeated("{}", size))));
    all.push(("names of nothing".to_owned(), format!("{{{}}}", members("{}", size))));
    all
}

/// Possible items: minimal, with each single field, and with all fields.
fn items(schema: &Value) -> Vec<(String, String)> {
    let mut all = vec![("nulls".to_owned(), "null".to_owned()), ("nothing".to_owned(), least(schema).to_string())];
    let fields: Map<String, Value> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, it)| (name.clone(), some(it))).collect();
    for (name, value) in &fields {
        all.push((format!("{name}s"), json!({name: value}).to_string()));
    }
    all.push(("all there is".to_owned(), some(schema).to_string()));
    all
}

/// The smallest value that a schema allows.
fn least(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.map(|name| (name.to_owned(), least(&schema["properties"][name]))).collect::<Map<_, _>>().into()
        }
        Some("array") => json!([]),
        _ => some(schema),
    }
}

/// A value with all parts that a schema allows.
fn some(schema: &Value) -> Value {
    if let Some(last) = schema["enum"].as_array().and_then(|options| options.last()) {
        return last.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let mut object: Map<String, Value> = fields.map(|(name, field)| (name.clone(), some(field))).collect();
            if schema["additionalProperties"].is_object() {
                object.insert("k".to_owned(), some(&schema["additionalProperties"]));
            }
            object.into()
        }
        Some("array") => json!([some(&schema["items"])]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(7),
        _ => json!("x"),
    }
}

/// Repeats the item up to the size of a body. Every second item has a number instead of its first text.
fn repeated(item: &str, size: usize) -> String {
    let numbered = item.contains("\"x\"");
    let mut all = String::with_capacity(size + item.len() + 16);
    let mut number = 0_u32;
    while all.len() < size {
        if number > 0 {
            all.push(',');
        }
        match numbered && number.is_multiple_of(2) {
            true => all.push_str(&item.replacen("\"x\"", &format!("\"{number}\""), 1)),
            false => all.push_str(item),
        }
        number += 1;
    }
    all
}

fn members(item: &str, size: usize) -> String {
    let mut all = String::with_capacity(size + item.len() + 16);
    let mut number = 0_u32;
    while all.len() < size {
        let comma = if number > 0 { "," } else { "" };
        _ = write!(all, "{comma}\"{number:x}\":{item}");
        number += 1;
    }
    all
}

/// An object with a text at the end of a path, and either no other fields or the required ones.
fn object(kind: &Kind, version: &Value, way: &[Step], text: &str, complete: bool) -> String {
    const MARK: &str = "\"@here@\"";
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut object = if complete { least(schema) } else { json!({}) };
    if complete && !object["spec"].is_object() && schema["properties"]["spec"].is_object() {
        object["spec"] = least(&schema["properties"]["spec"]);
    }
    put(&mut object, schema, way, complete);
    object["apiVersion"] = json!(format!("{}/{}", kind.group(), version["name"].as_str().unwrap()));
    object["kind"] = json!(kind.kind());
    object["metadata"] = json!({"name": "a", "namespace": "b", "uid": "c"});
    object.to_string().replacen(MARK, text, 1)
}

fn put(at: &mut Value, schema: &Value, way: &[Step], complete: bool) {
    let Some((step, rest)) = way.split_first() else {
        *at = json!("@here@");
        return;
    };
    let fresh = |schema: &Value| if complete { least(schema) } else { Value::Null };
    match step {
        Step::Field(name) => {
            let field = &schema["properties"][name];
            if !at.is_object() {
                *at = json!({});
            }
            if at.get(name).is_none() {
                at[name] = fresh(field);
            }
            put(&mut at[name], field, rest, complete);
        }
        Step::Element => {
            *at = json!([fresh(&schema["items"])]);
            put(&mut at[0], &schema["items"], rest, complete);
        }
        Step::Entry(length) => {
            let key = "k".repeat(*length);
            *at = json!({&key: fresh(&schema["additionalProperties"])});
            put(&mut at[&key], &schema["additionalProperties"], rest, complete);
        }
    }
}

pub(crate) fn review(objects: &str, desired: &str) -> String {
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"{desired}\",\"objects\":[{objects}]}}}}"
    )
}

pub(crate) fn admission(kind: &Kind, object: &str, old: &str) -> String {
    format!(
        "{{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{{\"uid\":\"u\",\
         \"kind\":{{\"group\":\"{}\",\"version\":\"v1\",\"kind\":\"{}\"}},\
         \"operation\":\"UPDATE\",\"object\":{object},\"oldObject\":{old}}}}}",
        kind.group(),
        kind.kind(),
    )
}
