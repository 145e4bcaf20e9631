//! The API server's part in handling an object: what a schema says of it, its defaults, whether it is valid.

use serde_json::Value as Schema;
use uuid::Uuid;

use crate::value::Value;

pub(crate) fn property<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .or_else(|| map_values(schema))
}

pub(super) fn map_values(schema: &Schema) -> Option<&Schema> {
    schema.get("additionalProperties").filter(|inner| inner.is_object())
}

pub(super) fn flag(schema: &Schema, name: &str) -> bool {
    schema.get(name).and_then(Schema::as_bool).unwrap_or_default()
}

pub(super) fn properties(schema: &Schema) -> impl Iterator<Item = (&String, &Schema)> {
    schema.get("properties").and_then(Schema::as_object).into_iter().flatten()
}

pub(super) fn requires(schema: &Schema, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Schema::as_array)
        .is_some_and(|names| names.iter().any(|other| other == name))
}

pub(crate) fn literal(value: &Schema) -> Value {
    Value::parse(&value.to_string())
}

/// Whether a list that is told apart by keys has an element with the same keys.
pub(super) fn clashes(schema: &Schema, elements: &[Value], element: &Value) -> bool {
    let Some(keys) = schema.get("x-kubernetes-list-map-keys").and_then(Schema::as_array) else {
        return false;
    };
    let same = |other: &Value| {
        keys.iter().filter_map(Schema::as_str).all(|key| other.get(key) == element.get(key))
    };
    elements.iter().any(same)
}

/// The schema of what one field manager owns of an object: nothing is required.
pub(crate) fn relaxed(schema: &Schema) -> Schema {
    match schema {
        Schema::Object(members) => {
            let required = |name: &str, value: &Schema| name == "required" && value.is_array();
            members
                .iter()
                .filter(|(name, value)| !required(name, value))
                .map(|(name, value)| (name.clone(), relaxed(value)))
                .collect()
        }
        Schema::Array(elements) => elements.iter().map(relaxed).collect(),
        other => other.clone(),
    }
}

/// Fills defaults and drops nulls where the schema has no room for one, as the API server does before it validates.
pub(crate) fn fill(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let void =
                |inner: &Schema, value: &Value| *value == Value::Null && !flag(inner, "nullable");
            for (name, inner) in properties(schema) {
                match (members.get(name), inner.get("default")) {
                    (None, Some(default)) => drop(members.insert(name.clone(), literal(default))),
                    (Some(value), Some(default)) if void(inner, value) => {
                        drop(members.insert(name.clone(), literal(default)))
                    }
                    (Some(value), None) if void(inner, value) => drop(members.remove(name)),
                    _ => {}
                }
            }
            for (name, value) in members {
                if let Some(inner) = property(schema, name) {
                    fill(inner, value);
                }
            }
        }
        Value::List(elements) => {
            elements.iter_mut().for_each(|element| fill(&schema["items"], element))
        }
        _ => {}
    }
}

/// Whether the API server would take the value at this version, and why not.
pub(crate) fn invalid(schema: &Schema, value: &Value, at: &str) -> Option<String> {
    let bad = |what: &str| Some(format!("{at}: {what}: {}", value.to_text()));
    if *value == Value::Null && flag(schema, "nullable") {
        return None;
    }
    let integer = |number: &str| !number.contains(['.', 'e', 'E']);
    let fits = match (schema.get("type").and_then(Schema::as_str), value) {
        (Some("object"), Value::Object(_))
        | (Some("array"), Value::List(_))
        | (Some("boolean"), Value::Bool(_)) => true,
        (Some("string"), Value::Text(_)) | (Some("number"), Value::Number(_)) => true,
        (Some("integer"), Value::Number(number)) => integer(number),
        (None, Value::Number(number)) if flag(schema, "x-kubernetes-int-or-string") => {
            integer(number)
        }
        (None, Value::Text(_)) if flag(schema, "x-kubernetes-int-or-string") => true,
        (None, _) => !flag(schema, "x-kubernetes-int-or-string") && *value != Value::Null,
        _ => false,
    };
    if !fits {
        return bad("has a wrong type");
    }
    if let Some(options) = schema.get("enum").and_then(Schema::as_array)
        && !options.iter().any(|option| literal(option) == *value)
    {
        return bad("is none of the options");
    }
    if schema.get("minimum").is_some()
        && matches!(value, Value::Number(number) if number.starts_with('-'))
    {
        return bad("is too small");
    }
    if schema.get("format").and_then(Schema::as_str) == Some("uuid") {
        let uuid = value
            .as_str()
            .is_some_and(|text| Uuid::try_parse(text).is_ok() && !text.contains(['{', 'u']));
        if !uuid {
            return bad("is no UUID");
        }
    }
    match value {
        Value::Object(members) => {
            let missing = properties(schema)
                .find(|(name, _)| requires(schema, name) && !members.contains_key(*name));
            if let Some((name, _)) = missing {
                return bad(&format!("has no {name}"));
            }
            members.iter().find_map(|(name, value)| {
                invalid(property(schema, name)?, value, &format!("{at}/{name}"))
            })
        }
        Value::List(elements) => {
            let repeated = elements
                .iter()
                .enumerate()
                .any(|(index, element)| clashes(schema, &elements[..index], element));
            if repeated {
                return bad("names an element twice");
            }
            elements
                .iter()
                .enumerate()
                .find_map(|(i, element)| invalid(&schema["items"], element, &format!("{at}/{i}")))
        }
        _ => None,
    }
}
