//! The smallest value that a schema accepts. Proposals use it, so that they can be copied verbatim.

use serde_json::{Map, Value, json};

use crate::definition::schema::Schema;

/// The smallest value that a version accepts at a place, or why no value can be checked.
pub(super) fn least_value(schema: &Schema) -> Result<Value, String> {
    let mut unchecked = None;
    for candidate in candidates(schema)? {
        let value = schema.filled(candidate.clone());
        unchecked = schema.unchecked_for(&value);
        if unchecked.is_none() && schema.takes(&value) {
            return Ok(candidate);
        }
    }
    Err(match unchecked {
        Some(unchecked) => format!("the schema has {unchecked}, which pointsman cannot check"),
        None => "no simple value fits the bounds".to_owned(),
    })
}

fn candidates(schema: &Schema) -> Result<Vec<Value>, String> {
    if let Some(default) = &schema.default {
        return Ok(vec![default.clone()]);
    }
    if let Some(options) = &schema.options {
        return Ok(options.clone());
    }
    let bound = |name: &str| schema.bounds.get(name).cloned();
    let count = |name: &str| bound(name).and_then(|bound| bound.as_u64()).unwrap_or_default() as usize;
    Ok(match schema.kind.as_deref() {
        Some("boolean") => vec![json!(false)],
        Some("integer" | "number" | "int-or-string") => {
            [Some(json!(0)), bound("minimum"), bound("maximum")].into_iter().flatten().collect()
        }
        Some("array") => vec![list(schema, count("minItems"))?],
        Some("object") => vec![object(schema, count("minProperties"))?],
        Some("string") if schema.format.as_deref() == Some("uuid") => vec![json!(uuid::Uuid::nil().to_string())],
        _ => {
            let length = count("minLength").min(LONGEST);
            let texts = TEXTS.iter().map(|text| text.repeat(length.max(1)));
            std::iter::once("x".repeat(length)).chain(texts).map(Value::String).collect()
        }
    })
}

/// Characters of proposed strings. Patterns often allow one of these.
const TEXTS: [&str; 4] = ["x", "a", "A", "1"];

/// Longer values are not proposed.
const LONGEST: usize = 64;

fn list(schema: &Schema, count: usize) -> Result<Value, String> {
    match &schema.each {
        Some(_) if count > 1 && schema.list_type.is_some() => Err("the items must differ".to_owned()),
        Some(each) if count > 0 => Ok(Value::Array(vec![least_value(each)?; count.min(LONGEST)])),
        _ => Ok(json!([])),
    }
}

fn object(schema: &Schema, count: usize) -> Result<Value, String> {
    let mut made = Map::new();
    for name in &schema.required {
        let inner = schema.member(name).ok_or_else(|| format!("the schema requires {name}, which has no schema"))?;
        if inner.default.is_none() {
            let value = least_value(inner).map_err(|why| format!("the schema requires {name}, and {why}"))?;
            made.insert(name.clone(), value);
        }
    }
    if let (Some(each), true) = (&schema.each, made.len() < count) {
        let value = least_value(each)?;
        let more = count.min(LONGEST) - made.len();
        made.extend((0..more).map(|index| (format!("key{index}"), value.clone())));
    }
    Ok(Value::Object(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn least(schema: Value, expected: Result<Value, &str>) {
        assert_eq!(least_value(&Schema::read(&schema)), expected.map_err(str::to_owned));
    }

    #[test]
    fn least_value_fits_its_schema() {
        least(json!({"type": "integer", "minimum": 3}), Ok(json!(3)));
        least(json!({"type": "string", "minLength": 2}), Ok(json!("xx")));
        least(json!({"type": "string", "enum": ["b", "a"]}), Ok(json!("b")));
        least(json!({"type": "array", "minItems": 1, "items": {"type": "boolean"}}), Ok(json!([false])));
        let inner = json!({"a": {"type": "string"}, "b": {"type": "integer", "default": 1}, "c": {"type": "string"}});
        least(json!({"type": "object", "required": ["a", "b"], "properties": inner}), Ok(json!({"a": ""})));
    }

    #[test]
    fn least_value_matches_its_pattern() {
        least(json!({"type": "string", "pattern": "^[a-z]$"}), Ok(json!("x")));
        least(json!({"type": "string", "pattern": "^[0-9]+$", "minLength": 3}), Ok(json!("111")));
        let why = "no simple value fits the bounds";
        let pattern = json!({"type": "string", "pattern": "^sha256:"});
        least(pattern.clone(), Err(why));
        let object = json!({"type": "object", "required": ["a"], "properties": {"a": pattern}});
        least(object, Err(&format!("the schema requires a, and {why}")));
        let unknown = json!({"type": "string", "not": {"enum": ["x"]}});
        least(unknown, Err("the schema has `not`, which pointsman cannot check"));
    }
}
