//! docs/api.md and the files in docs/schemas follow the schemas of the program.
//!
//! `POINTSMAN_BLESS=1 cargo test --locked --test it -- api_reference` writes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pointsman_rollout::definition_schema;
use serde_json::{Map, Value, json};

use crate::bless::agrees;

const HEAD: &str = "\
# API reference

This page lists every field of the two kinds that you write for pointsman. It is generated from their schemas.

- [KindDefinition](#kinddefinition): a file that describes the versions of a kind; see [Kind definitions](definitions.md).
- [StagedRollout](#stagedrollout): an object that moves a fleet; see [StagedRollouts](rollouts.md).

The same schemas as JSON Schema, for editors and CI: [kinddefinition-v1.json](schemas/kinddefinition-v1.json) and
[stagedrollout-v1.json](schemas/stagedrollout-v1.json). In an editor, put `# yaml-language-server: $schema=PATH` at the top of your file.
";

#[test]
fn api_reference_follows_the_schemas() {
    let definition = definition_schema();
    let rollout = rollout_schema();
    let mut page = HEAD.to_owned();
    definition_sections(&definition, &mut page);
    page.push_str("\n## StagedRollout\n");
    object_section("", &rollout, &mut page);
    let json = |schema: &Value| serde_json::to_string_pretty(schema).unwrap() + "\n";
    for (file, text) in [
        ("docs/api.md", page),
        ("docs/schemas/kinddefinition-v1.json", json(&definition)),
        ("docs/schemas/stagedrollout-v1.json", json(&rollout)),
    ] {
        agrees(file, &text);
    }
}

/// The schema of the CRD, as a JSON Schema document.
fn rollout_schema() -> Value {
    let documents = pointsman_rollout::ROLLOUT_CRD;
    let crd: Value = serde_saphyr::from_str(documents.split("\n---\n").next().unwrap()).unwrap();
    let mut schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap().clone();
    let object = schema.as_object_mut().unwrap();
    object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    object.insert("title".to_owned(), json!("StagedRollout"));
    close(&mut schema);
    schema
}

/// The API server prunes unknown fields and reads `x-kubernetes-int-or-string`. JSON Schema needs
/// `additionalProperties` and `type`.
fn close(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".to_owned(), json!(false));
        }
        if object.remove("x-kubernetes-int-or-string").is_some() {
            object.insert("type".to_owned(), json!(["integer", "string"]));
        }
        object.remove("x-kubernetes-validations");
        object.values_mut().for_each(close);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(close);
    }
}

/// A section for each type, in the order in which the fields name them.
fn definition_sections(schema: &Value, page: &mut String) {
    let defs = schema["$defs"].as_object().unwrap();
    let mut seen = BTreeSet::new();
    let mut queue = vec!["MutationsDefinition".to_owned(), "KindDefinition".to_owned()];
    while let Some(name) = queue.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let (level, schema) = (if name == "KindDefinition" { "##" } else { "###" }, &defs[&name]);
        write!(page, "\n{level} {name}\n\n{}\n", text(schema)).unwrap();
        let variants = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        match (schema["properties"].as_object(), variants) {
            (Some(_), _) => table(schema, page),
            (None, Some(variants)) => variant_table(variants, page),
            (None, None) => {}
        }
        let mut named = Vec::new();
        references(schema, &mut named);
        queue.extend(named.into_iter().rev());
    }
    let unused: Vec<&String> = defs.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unused.is_empty(), "no field has the type: {unused:?}");
}

/// The fields of an object, then a section for each object inside.
fn object_section(path: &str, schema: &Value, page: &mut String) {
    write!(page, "\n{}\n", text(schema)).unwrap();
    table(schema, page);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_list = field["items"].is_object();
        let inner = if is_list { &field["items"] } else { field };
        if inner["properties"].is_object() {
            let path = format!("{path}.{name}{}", if is_list { "[]" } else { "" });
            write!(page, "\n### {}\n", path.trim_start_matches('.')).unwrap();
            object_section(&path, inner, page);
        }
    }
}

fn table(schema: &Value, page: &mut String) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    page.push_str("\n| field | type | description |\n|---|---|---|\n");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        writeln!(page, "| `{name}` | {}{needed} | {} |", type_of(field), text(field)).unwrap();
    }
}

/// The forms that a value can have: each an object with one field, a constant, or another type.
fn variant_table(variants: &[Value], page: &mut String) {
    page.push_str("\n| form | type | description |\n|---|---|---|\n");
    for variant in variants {
        let field = variant["properties"].as_object().and_then(|fields| fields.iter().next());
        let form = field.map_or(String::new(), |(name, _)| format!("`{name}`"));
        let value = field.map_or(variant, |(_, value)| value);
        writeln!(page, "| {form} | {} | {} |", type_of(value), text(variant)).unwrap();
    }
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", plain(value));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{}`", plain(value))).collect();
        return values.join(", ");
    }
    if let Some(variants) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let types = variants.iter().filter(|variant| variant["type"] != "null").map(type_of);
        return types.collect::<Vec<_>>().join(" or ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
        _ => return "any".to_owned(),
    };
    let one = |name: &str| match name {
        "array" if schema["items"].is_object() => format!("list of {}", type_of(&schema["items"])),
        "array" => "list".to_owned(),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        other => other.to_owned(),
    };
    names.into_iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The description of a schema, on one line of a table.
fn text(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// The types that a schema names, each once.
fn references(schema: &Value, named: &mut Vec<String>) {
    let mut of_object = |object: &Map<String, Value>| {
        for (key, value) in object {
            match value.as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
                Some(name) if key == "$ref" => named.push(name.to_owned()),
                _ => references(value, named),
            }
        }
    };
    match schema {
        Value::Object(object) => of_object(object),
        Value::Array(items) => items.iter().for_each(|item| references(item, named)),
        _ => {}
    }
}
