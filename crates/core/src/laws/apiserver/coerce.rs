//! Unknown fields, nulls and defaults.
//!
//! Sources, all below `apiextensions-apiserver pkg/apiserver/schema`: `pruning/algorithm.go`,
//! `defaulting/prunenulls.go`, `defaulting/algorithm.go`.

use serde_json::Value as Schema;

use super::numbers::{Undecodable, decode, hold, literal};
use super::unknown::{HEAD, is_head, is_kept};
use super::validate::{Invalid, newly_invalid};
use crate::laws::schema::{flag, map_values, preserves, properties, property};
use crate::laws::value::Value;

/// The object after the API server processed the response of a conversion webhook.
///
/// # Errors
/// A number that the API server cannot decode. The request behind the conversion fails.
pub fn answered(schema: &Schema, object: &Value) -> Result<Value, Undecodable> {
    let mut object = object.clone();
    decode(&mut object)?;
    prune(schema, &mut object);
    prune_nulls(schema, &mut object);
    Ok(object)
}

/// The object after the API server reads it, from a client at this version, or from its storage.
///
/// # Errors
/// A number that the API server cannot decode.
pub fn read(schema: &Schema, object: &Value) -> Result<Value, Undecodable> {
    let mut object = answered(schema, object)?;
    default(schema, &mut object);
    Ok(object)
}

/// The stored object after a client's write at this version. `old` is the previous object.
///
/// # Errors
/// The write is rejected.
pub fn written(schema: &Schema, sent: &Value, old: Option<&Value>) -> Result<Value, WriteError> {
    let held = |object: &Value| {
        let mut object = object.clone();
        hold(&mut object).map(|()| object)
    };
    let (mut object, old) = (held(sent)?, old.map(held).transpose()?);
    prune(schema, &mut object);
    fill(schema, &mut object);
    if let Some(problem) = newly_invalid(schema, &object, old.as_ref(), "") {
        return Err(problem.into());
    }
    decode(&mut object)?;
    Ok(object)
}

/// Why a write is rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// A number cannot be decoded.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
    /// The schema does not allow it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Prunes nulls and fills in defaults.
pub fn fill(schema: &Schema, object: &mut Value) {
    prune_nulls(schema, object);
    default(schema, object);
}

/// Prunes unknown fields of an object.
fn prune(schema: &Schema, object: &mut Value) {
    let Value::Object(members) = object else { return };
    let head: Vec<(String, Value)> = HEAD.iter().filter_map(|name| members.remove_entry(*name)).collect();
    prune_inside(Some(schema), object);
    if let Value::Object(members) = object {
        members.extend(head);
    }
}

fn prune_inside(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let Some(schema) = schema else {
                members.clear();
                return;
            };
            members.retain(|name, _| is_kept(schema, name));
            for (name, member) in members.iter_mut().filter(|(name, _)| !is_head(schema, name)) {
                if let Some(inner) = property(schema, name) {
                    prune_inside(Some(inner), member);
                }
            }
        }
        Value::List(elements) => {
            let items = schema.and_then(|schema| schema.get("items"));
            if items.is_some() || !schema.is_some_and(preserves) {
                elements.iter_mut().for_each(|element| prune_inside(items, element));
            }
        }
        _ => {}
    }
}

/// Prunes nulls that the schema does not allow, and that have no default. In lists they stay.
fn prune_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                let inner = property(schema, name);
                !(*member == Value::Null
                    && inner.is_some_and(|inner| !flag(inner, "nullable") && inner.get("default").is_none()))
            });
            for (name, member) in members {
                if let Some(inner) = property(schema, name) {
                    prune_nulls(inner, member);
                }
            }
        }
        Value::List(elements) => {
            if let Some(items) = schema.get("items") {
                elements.iter_mut().for_each(|element| prune_nulls(items, element));
            }
        }
        _ => {}
    }
}

/// Fills in defaults, outermost first, so that a default of `{}` gets nested defaults.
fn default(schema: &Schema, value: &mut Value) {
    let void = |inner: &Schema, value: &Value| *value == Value::Null && !flag(inner, "nullable");
    match value {
        Value::Object(members) => {
            for (name, inner) in properties(schema) {
                let Some(default) = inner.get("default").filter(|default| !default.is_null()) else {
                    continue;
                };
                if members.get(name).is_none_or(|value| void(inner, value)) {
                    members.insert(name.clone(), literal(default));
                }
            }
            for (name, member) in members {
                let Some(inner) = property(schema, name) else { continue };
                if map_values(schema).is_some_and(|values| std::ptr::eq(values, inner)) {
                    fill_null(inner, member);
                }
                default(inner, member);
            }
        }
        Value::List(elements) => {
            let Some(items) = schema.get("items") else { return };
            for element in elements {
                fill_null(items, element);
                default(items, element);
            }
        }
        _ => {}
    }
}

/// Replaces a null in a list or a map by its default, if there is one.
fn fill_null(schema: &Schema, value: &mut Value) {
    if let Some(default) = schema.get("default")
        && *value == Value::Null
        && !flag(schema, "nullable")
    {
        *value = literal(default);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(yaml: &str) -> Schema {
        serde_saphyr::from_str(yaml).unwrap()
    }

    /// Checks the result of `sent` under a schema after a step of the API server.
    fn replaces(schema: &Schema, step: &dyn Fn(&Schema, &mut Value), sent: &str, left: &str) {
        let mut value = Value::read(sent).unwrap();
        step(schema, &mut value);
        assert_eq!(value.to_text(), left, "{sent}");
    }

    #[test]
    fn unknown_fields_are_pruned() {
        // pruning/algorithm_test.go, TestPrune
        let closed = schema(
            "{type: object, properties: {a: {type: string}, l: {type: array, items: {type: object, properties: {b: {type: string}}}}}}",
        );
        for (sent, left) in [
            ("{}", "{}"),
            (r#"{"a":"x","c":1}"#, r#"{"a":"x"}"#),
            (r#"{"kind":"K","metadata":{"x":1}}"#, r#"{"kind":"K","metadata":{"x":1}}"#),
            (r#"{"l":[{"b":"x","c":1},null]}"#, r#"{"l":[{"b":"x"},null]}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#),
        ] {
            replaces(&closed, &prune, sent, left);
        }
        let open = schema(
            "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object, properties: {b: {type: string}}}, m: {type: object, additionalProperties: {type: object}}}}",
        );
        for (sent, left) in [
            (r#"{"x":{"y":1},"a":{"b":"","c":1}}"#, r#"{"a":{"b":""},"x":{"y":1}}"#),
            (r#"{"m":{"k":{"c":1}}}"#, r#"{"m":{"k":{}}}"#),
        ] {
            replaces(&open, &prune, sent, left);
        }
    }

    #[test]
    fn non_nullable_nulls_are_dropped() {
        // defaulting/prunenulls_test.go, TestPruneNonNullableNullsWithoutDefaults
        let schema = schema(
            "{type: object, properties: {a: {type: string}, n: {type: string, nullable: true}, d: {type: string, default: x}, m: {type: object, additionalProperties: {type: string}}, l: {type: array, items: {type: string}}}}",
        );
        for (sent, left) in [
            (r#"{"a":null,"x":null}"#, r#"{"x":null}"#),
            (r#"{"n":null}"#, r#"{"n":null}"#),
            (r#"{"d":null}"#, r#"{"d":null}"#),
            (r#"{"m":{"k":null,"j":"x"}}"#, r#"{"m":{"j":"x"}}"#),
            (r#"{"l":["x",null]}"#, r#"{"l":["x",null]}"#),
        ] {
            replaces(&schema, &prune_nulls, sent, left);
        }
    }

    #[test]
    fn outer_defaults_fill_first() {
        // defaulting/algorithm_test.go, TestDefaulting
        let schema = schema(
            r#"{type: object, properties: {
                a: {type: string, default: A},
                n: {type: string, nullable: true, default: X},
                o: {type: object, default: {}, properties: {b: {type: string, default: B}}},
                p: {type: object, properties: {b: {type: string, default: B}}},
                m: {type: object, additionalProperties: {type: object, properties: {b: {type: string, default: B}}}},
                l: {type: array, items: {type: object, properties: {b: {type: string, default: B}}}},
                s: {type: array, items: {type: string, default: S}}}}"#,
        );
        let all = r#""a":"A","#;
        let (n, o) = (r#""n":"X","#, r#""o":{"b":"B"}"#);
        for (sent, left) in [
            ("{}", format!("{{{all}{n}{o}}}")),
            (r#"{"a":null}"#, format!("{{{all}{n}{o}}}")),
            (r#"{"n":null}"#, format!(r#"{{{all}"n":null,{o}}}"#)),
            (r#"{"a":"","o":null}"#, format!(r#"{{"a":"",{n}{o}}}"#)),
            (r#"{"p":{}}"#, format!(r#"{{{all}{n}{o},"p":{{"b":"B"}}}}"#)),
            (r#"{"m":{"k":{}}}"#, format!(r#"{{{all}"m":{{"k":{{"b":"B"}}}},{n}{o}}}"#)),
            (r#"{"l":[{},{"b":"x"}]}"#, format!(r#"{{{all}"l":[{{"b":"B"}},{{"b":"x"}}],{n}{o}}}"#)),
            (r#"{"s":[null,"x"]}"#, format!(r#"{{{all}{n}{o},"s":["S","x"]}}"#)),
        ] {
            replaces(&schema, &default, sent, &left);
        }
    }

    #[test]
    fn float_is_no_integer() {
        let schema = schema("{type: object, properties: {a: {type: integer}}}");
        let stored = |sent: &str| written(&schema, &Value::read(sent).unwrap(), None);
        assert_eq!(stored(r#"{"a":1.0}"#).unwrap().to_text(), r#"{"a":1}"#);
        assert_eq!(stored(r#"{"a":4553828796600070000}"#).unwrap().to_text(), r#"{"a":4553828796600070000}"#);
        assert!(matches!(stored(r#"{"a":4553828796600070000.5}"#), Err(WriteError::Invalid(_))));
        assert!(matches!(stored(r#"{"a":1E400}"#), Err(WriteError::Undecodable(_))));
        // A number that an older schema allowed may stay.
        let old = Value::read(r#"{"a":18446744073709551615}"#).unwrap();
        assert!(written(&schema, &old, Some(&old)).is_ok());
    }

    #[test]
    fn only_writes_are_defaulted() {
        let schema = schema(
            "{type: object, properties: {spec: {type: object, properties: {a: {type: number, default: 1.0}, b: {type: number}}}}}",
        );
        let object = Value::read(r#"{"spec":{"b":1.0,"c":2}}"#).unwrap();
        assert_eq!(answered(&schema, &object).unwrap().to_text(), r#"{"spec":{"b":1}}"#);
        assert_eq!(read(&schema, &object).unwrap().to_text(), r#"{"spec":{"a":1,"b":1}}"#);
        assert!(read(&schema, &Value::read(r#"{"spec":{"b":1E400}}"#).unwrap()).is_err());
    }
}
