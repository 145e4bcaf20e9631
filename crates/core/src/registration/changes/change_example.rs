//! A part of an object that shows a change of a schema.

use serde_json::{Map, Value, json};

/// One level of a field's path.
pub(in crate::registration) enum Place {
    /// A member that `properties` lists.
    Member(String),
    /// The items of a list.
    Item,
    /// The entries of a map.
    Entry,
}

/// The path, such as `spec.ports[*].name`.
pub(in crate::registration) fn path(places: &[Place]) -> String {
    places.iter().fold(String::new(), |path, place| match place {
        Place::Member(name) if path.is_empty() => name.clone(),
        Place::Member(name) => format!("{path}.{name}"),
        Place::Item | Place::Entry => path + "[*]",
    })
}

/// An object with this value of a field. [`completed`] adds the required ones.
pub(in crate::registration) fn object_with(places: &[Place], value: Value) -> Value {
    places.iter().rev().fold(value, |value, place| match place {
        Place::Member(name) => json!({name: value}),
        Place::Item => json!([value]),
        Place::Entry => json!({"key": value}),
    })
}

/// A short value that a schema accepts. `None` if it has keywords that a value cannot be derived from.
pub(in crate::registration) fn sample(schema: &Value) -> Option<Value> {
    if let Some(value) = schema.pointer("/enum/0").or_else(|| schema.get("default")).filter(|value| !value.is_null()) {
        return Some(value.clone());
    }
    if is_unclear(schema) {
        return None;
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_i64);
    if ["minimum", "maximum"].iter().any(|key| schema.get(key).is_some() && number(key).is_none()) {
        return None;
    }
    match schema.get("type").and_then(Value::as_str)? {
        "string" => text(usize::try_from(number("minLength").unwrap_or(1).max(1)).ok()?),
        "integer" | "number" => {
            let at_least = number("minimum").map_or(1, |least| least.max(1));
            Some(json!(number("maximum").map_or(at_least, |most| most.min(at_least))))
        }
        "boolean" => Some(json!(true)),
        "array" if number("minItems").unwrap_or_default() < 1 => Some(json!([])),
        "array" if number("minItems") == Some(1) => Some(json!([sample(schema.get("items")?)?])),
        "object" if number("minProperties").is_none() => {
            let members = missing_fields(schema).map(|(name, field)| Some((name.to_owned(), sample(field)?)));
            members.collect::<Option<Map<String, Value>>>().map(Value::Object)
        }
        _ => None,
    }
}

/// Adds the other required fields to the object at a place of an example. `None` if a value cannot be derived.
pub(in crate::registration) fn completed(mut example: Value, places: &[Place], schema: &Value) -> Option<Value> {
    let mut holder = &mut example;
    for place in places {
        holder = match place {
            Place::Member(name) => holder.get_mut(name)?,
            Place::Item => holder.get_mut(0)?,
            Place::Entry => holder.get_mut("key")?,
        };
    }
    let holder = holder.as_object_mut()?;
    // Examples leave out the fields that each object has.
    let is_given = |name: &str| places.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name);
    for (name, field) in missing_fields(schema).filter(|(name, _)| !is_given(name)) {
        if !holder.contains_key(name) {
            holder.insert(name.to_owned(), sample(field)?);
        }
    }
    Some(example)
}

/// The required fields that the API server does not add, with their schemas.
fn missing_fields(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let fields = required.filter_map(|name| Some((name, schema.get("properties")?.get(name)?)));
    fields.filter(|(_, field)| !has_default(field))
}

/// Returns whether the API server completes an object with a value of the field. Null is no such value
/// (`pkg/apiserver/schema/defaulting/algorithm.go`).
pub(in crate::registration) fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some_and(|default| !default.is_null())
}

/// A value that the old schema accepts, and that a stricter bound of the new schema refuses.
pub(in crate::registration) fn beyond(key: &str, old: &Value, new: &Value) -> Option<Value> {
    if old.get("enum").is_some() || is_unclear(old) {
        return None;
    }
    let bound = new.get(key)?.as_i64()?;
    let (above, below) = (bound.checked_add(1), bound.checked_sub(1));
    let accepts = |key: &str, is: fn(i64, i64) -> bool, value: i64| {
        old.get(key).is_none_or(|bound| bound.as_i64().is_some_and(|bound| is(value, bound)))
    };
    let (at_least, at_most) = (|value, bound| value >= bound, |value, bound| value <= bound);
    let is_between =
        |least: &str, most: &str, value: i64| accepts(least, at_least, value) && accepts(most, at_most, value);
    let length = |value: i64| text(usize::try_from(value).ok()?);
    match key {
        "maxLength" => above.filter(|value| is_between("minLength", "maxLength", *value)).and_then(length),
        "minLength" => below.filter(|value| is_between("minLength", "maxLength", *value)).and_then(length),
        "maximum" => above.filter(|value| is_between("minimum", "maximum", *value)).map(Value::from),
        "minimum" => below.filter(|value| is_between("minimum", "maximum", *value)).map(Value::from),
        "minItems" if accepts(key, at_least, 0) => Some(json!([])),
        "minProperties" if accepts(key, at_least, 0) && old.get("required").is_none() => Some(json!({})),
        _ => None,
    }
}

/// A text of this length, if it fits into a column of a table.
fn text(length: usize) -> Option<Value> {
    (length <= 40).then(|| Value::String("a".repeat(length)))
}

/// Returns whether the accepted values are not clear from the keywords.
fn is_unclear(schema: &Value) -> bool {
    let more = ["x-kubernetes-embedded-resource", "x-kubernetes-validations"];
    OTHERS.iter().chain(&more).any(|key| schema.get(key).is_some())
}

/// The keywords of bounds that are no numbers.
pub(in crate::registration) const OTHERS: &[&str] = &[
    "allOf",
    "anyOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "uniqueItems",
];

#[cfg(test)]
mod tests {
    use super::super::crd_change::crd_file_changes;
    use super::*;
    use crate::laws::Value as Model;
    use crate::laws::apiserver::written;

    /// The old schema accepts each example as it is. The new schema refuses it, or prunes a field.
    #[test]
    fn examples_show_the_change() {
        let of = |key: &str, bound: Value| json!({"type": "string", key: bound});
        let number = |key: &str, bound: i64| json!({"type": "integer", key: bound});
        let items = |least: i64| json!({"type": "array", "minItems": least, "items": {"type": "string"}});
        let (text, empty) = (json!({"type": "string"}), json!({"type": "object", "properties": {}}));
        let object = |field: Value| json!({"type": "object", "required": ["b"], "properties": {"b": field}});
        let two =
            |field: &Value| json!({"type": "object", "required": ["b", "c"], "properties": {"b": field, "c": text}});
        let optional = json!({"type": "object", "properties": {"b": text}});
        let with_default = json!({"type": "string", "default": "x"});
        for (old, new, has_example) in [
            (text.clone(), json!({"type": "integer"}), true),
            (of("enum", json!(["a", "b"])), of("enum", json!(["a"])), true),
            (text.clone(), of("maxLength", json!(9)), true),
            (of("minLength", json!(2)), of("minLength", json!(9)), true),
            (of("maxLength", json!(100)), of("maxLength", json!(90)), false),
            (of("pattern", json!("^b")), json!({"type": "string", "pattern": "^b", "maxLength": 3}), false),
            (text.clone(), of("pattern", json!("^b")), false),
            (number("maximum", 9), number("maximum", 3), true),
            (number("minimum", 1), number("minimum", 3), true),
            (json!({"type": "integer"}), number("maximum", i64::MAX), true),
            (json!({"type": "integer"}), number("minimum", i64::MIN), true),
            (object(json!({"type": "number", "maximum": 0.5})), empty.clone(), false),
            (items(0), items(1), true),
            (json!({"type": "string", "nullable": true}), text.clone(), true),
            (object(text.clone()), empty.clone(), true),
            (object(of("maxLength", json!(3))), empty, true),
            (optional, object(text.clone()), true),
            (object(with_default), object(text.clone()), true),
            (json!({"type": "string", "nullable": true, "enum": ["a"]}), of("enum", json!(["a"])), false),
            (two(&text), two(&of("maxLength", json!(3))), true),
            (number("maximum", 10), number("maximum", i64::MAX), true),
            (number("maximum", 10), json!({"type": "integer", "maximum": 10.5}), true),
            (number("maximum", 10), json!({"type": "integer", "format": "int32", "maximum": 3_000_000_000_i64}), true),
            (json!({"type": "number", "maximum": 10}), json!({"type": "number", "maximum": 1e19}), true),
        ] {
            judge_change(&old, &new, has_example);
        }
    }

    /// Judges the examples of a change of a field, in an object, a list and a map.
    fn judge_change(old: &Value, new: &Value, has_example: bool) {
        for wrap in [
            |field: &Value| json!({"type": "object", "properties": {"a": field}}),
            |field: &Value| json!({"type": "object", "properties": {"a": {"type": "array", "items": field}}}),
            |field: &Value| json!({"type": "object", "additionalProperties": field}),
        ] {
            let schema = |field: &Value| {
                json!({"type": "object", "properties": {
                    "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "spec": wrap(field)}})
            };
            let crd = |field: &Value| {
                let version = json!({"name": "v1", "schema": {"openAPIV3Schema": schema(field)}});
                json!({"spec": {"versions": [version]}})
            };
            let changes = crd_file_changes(&[&crd(old)], &[&crd(new)]);
            let examples: Vec<&Value> = changes.iter().filter_map(|change| change.example.as_ref()).collect();
            assert_eq!(!examples.is_empty(), has_example, "{old} {new}");
            for example in examples {
                let write = |field: &Value| {
                    let sent = Model::literal(example);
                    written(&schema(field), &sent, None).ok().filter(|stored| *stored == sent)
                };
                // A default of the old schema completes the object.
                let is_accepted = written(&schema(old), &Model::literal(example), None).is_ok();
                assert!(is_accepted, "the old schema accepts {example}: {old}");
                assert_eq!(write(new), None, "the new schema refuses {example}, or prunes it: {new}");
            }
        }
    }
}
