//! The smallest value that a schema accepts. Proposals use it, so that they can be copied verbatim.

use serde_json::{Map, Value, json};

use crate::definition::schema::Schema;

/// The smallest value that a version accepts at a place, or why no value can be checked.
pub(super) fn least_value(schema: &Schema) -> Result<Value, String> {
    if let Some(unchecked) = schema.unchecked() {
        return Err(format!("the schema has {unchecked}, which pointsman cannot check"));
    }
    let takes = |value: &Value| schema.takes(&schema.filled(value.clone()));
    let found = candidates(schema)?.into_iter().find(takes);
    found.ok_or_else(|| "no simple value fits the bounds".to_owned())
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
        _ => vec![json!("x".repeat(count("minLength").min(LONGEST)))],
    })
}

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
    fn pattern_prevents_least_value() {
        let pattern = json!({"type": "string", "pattern": "^a$"});
        let why = "the schema has `pattern`, which pointsman cannot check";
        least(pattern.clone(), Err(why));
        let object = json!({"type": "object", "required": ["a"], "properties": {"a": pattern}});
        least(object, Err(&format!("the schema requires a, and {why}")));
    }
}
