//! Whether the API server takes a value, by the schema of the version in which it is written.
//!
//! Sources: `kube-openapi pkg/validation/validate` (types, enums, bounds, required), `apiextensions-apiserver
//! pkg/apiserver/schema/listtype/validation.go` (sets, and lists with keys). Patterns, `anyOf` and the like, formats
//! other than `uuid`, and rules in CEL are not restated: what only they refuse counts as valid.

use serde_json::Value as Schema;
use uuid::Uuid;

use crate::laws::schema::{bound, clashes, flag, property, required};
use crate::laws::value::Value;

/// What of a schema a value breaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// A minimum, a maximum, a length or a count.
    Bound,
    /// An element that stands twice in a set, or in a list with keys.
    Duplicate,
    /// The closed set of values.
    Enum,
    /// The form of a string.
    Format,
    /// A field that has to be there.
    Required,
    /// The JSON type, or null where null may not be.
    Type,
}

/// Why the API server refuses a value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Invalid {
    /// Where, with `/` between the names.
    pub path: String,
    /// What of the schema it breaks.
    pub rule: Rule,
    /// What is wrong, for people.
    pub message: String,
}

/// Why the API server would not take the value at this version; the first reason it finds. `at` is where the value is.
#[must_use]
pub fn invalid(schema: &Schema, value: &Value, at: &str) -> Option<Invalid> {
    if *value == Value::Null && flag(schema, "nullable") {
        return None;
    }
    if let Some(name) = missing(schema, value) {
        let message = "has to be there".to_owned();
        return Some(Invalid { path: format!("{at}/{name}"), rule: Rule::Required, message });
    }
    if let Some((rule, message)) = invalid_itself(schema, value) {
        let shown: String = value.to_text().chars().take(200).collect();
        return Some(Invalid { path: at.to_owned(), rule, message: format!("{message}: {shown}") });
    }
    match value {
        Value::Object(members) => {
            members.iter().find_map(|(name, value)| invalid(property(schema, name)?, value, &format!("{at}/{name}")))
        }
        Value::List(elements) => {
            let items = schema.get("items")?;
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(i, element)| invalid(items, element, &format!("{at}/{i}")))
        }
        _ => None,
    }
}

/// A field that the value has to have, and lacks.
fn missing<'s>(schema: &'s Schema, value: &Value) -> Option<&'s str> {
    let Value::Object(members) = value else { return None };
    let named = |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
    required(schema).find(|name| !members.contains_key(*name) && named(name))
}

/// The same without a look at what is inside: what is wrong, and by which rule.
pub(in crate::laws) fn invalid_itself(schema: &Schema, value: &Value) -> Option<(Rule, &'static str)> {
    if *value == Value::Null && flag(schema, "nullable") {
        return None;
    }
    if !has_type(schema, value) {
        return Some((Rule::Type, "has a wrong type"));
    }
    let options = schema.get("enum").and_then(Schema::as_array);
    if options.is_some_and(|options| !options.iter().any(|option| Value::literal(option) == *value)) {
        return Some((Rule::Enum, "is none of the options"));
    }
    let broken = match value {
        Value::Number(number) => number_bound(schema, number),
        Value::Text(text) => text_bound(schema, text),
        Value::List(elements) => count(schema, elements.len(), "minItems", "maxItems"),
        Value::Object(members) => count(schema, members.len(), "minProperties", "maxProperties"),
        _ => None,
    };
    if broken.is_some() {
        return broken;
    }
    match value {
        Value::Object(_) => missing(schema, value).map(|_| (Rule::Required, "lacks a field")),
        Value::List(elements) => {
            let mut before = elements.iter().enumerate();
            let twice = before.any(|(i, one)| clashes(schema, elements.get(..i).unwrap_or_default(), one));
            twice.then_some((Rule::Duplicate, "names an element twice"))
        }
        _ => None,
    }
}

/// Whether it is a whole number for the API server: 1.0 and 1e2 are.
fn is_whole(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
        || number.parse().is_ok_and(|float: f64| float.is_finite() && float.fract() == 0.0)
}

fn has_type(schema: &Schema, value: &Value) -> bool {
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    match (schema.get("type").and_then(Schema::as_str), value) {
        (Some("object"), Value::Object(_))
        | (Some("array"), Value::List(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("string"), Value::Text(_))
        | (Some("number"), Value::Number(_)) => true,
        (Some("integer"), Value::Number(number)) => is_whole(number),
        (Some(_), _) => false,
        (None, Value::Number(number)) => !int_or_string || is_whole(number),
        (None, Value::Text(_)) => true,
        (None, Value::Null) => false,
        (None, _) => !int_or_string,
    }
}

fn number_bound(schema: &Schema, number: &str) -> Option<(Rule, &'static str)> {
    let number: f64 = number.parse().ok()?;
    let exclusive = |name: &str| flag(schema, name);
    let small = bound(schema, "minimum")
        .is_some_and(|least| number < least || exclusive("exclusiveMinimum") && number == least);
    let large =
        bound(schema, "maximum").is_some_and(|most| number > most || exclusive("exclusiveMaximum") && number == most);
    let uneven = bound(schema, "multipleOf").is_some_and(|of| (number / of).fract() != 0.0);
    match (small, large, uneven) {
        (true, ..) => Some((Rule::Bound, "is too small")),
        (_, true, _) => Some((Rule::Bound, "is too large")),
        (.., true) => Some((Rule::Bound, "is no multiple of what it has to be")),
        _ => None,
    }
}

fn text_bound(schema: &Schema, text: &str) -> Option<(Rule, &'static str)> {
    let uuid = Uuid::try_parse(text).is_ok() && !text.contains(['{', 'u']);
    if schema.get("format").and_then(Schema::as_str) == Some("uuid") && !uuid {
        return Some((Rule::Format, "is no UUID"));
    }
    count(schema, text.chars().count(), "minLength", "maxLength")
}

fn count(schema: &Schema, size: usize, least: &str, most: &str) -> Option<(Rule, &'static str)> {
    let size = size as f64;
    if bound(schema, least).is_some_and(|least| size < least) {
        return Some((Rule::Bound, "is too short"));
    }
    bound(schema, most).is_some_and(|most| size > most).then_some((Rule::Bound, "is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_and_refused_as_the_api_server_does() {
        // kube-openapi pkg/validation/validate/*_test.go; the last two: listtype/validation_test.go
        for (schema, value, rule) in [
            ("{type: string}", r#""x""#, None),
            ("{type: string}", "1", Some(Rule::Type)),
            ("{type: string}", "null", Some(Rule::Type)),
            ("{type: string, nullable: true}", "null", None),
            ("{type: integer}", "1.0", None),
            ("{type: integer}", "1e2", None),
            ("{type: integer}", "1.5", Some(Rule::Type)),
            ("{type: number}", "1", None),
            ("{x-kubernetes-int-or-string: true}", r#""80%""#, None),
            ("{x-kubernetes-int-or-string: true}", "80", None),
            ("{x-kubernetes-int-or-string: true}", "true", Some(Rule::Type)),
            ("{x-kubernetes-int-or-string: true}", "1.5", Some(Rule::Type)),
            ("{x-kubernetes-preserve-unknown-fields: true}", "[1,{}]", None),
            ("{x-kubernetes-preserve-unknown-fields: true}", "null", Some(Rule::Type)),
            ("{type: string, enum: [a, b]}", r#""c""#, Some(Rule::Enum)),
            ("{type: integer, minimum: 1}", "1", None),
            ("{type: integer, minimum: 1}", "0", Some(Rule::Bound)),
            ("{type: integer, minimum: 1, exclusiveMinimum: true}", "1", Some(Rule::Bound)),
            ("{type: number, maximum: 1.5}", "1.6", Some(Rule::Bound)),
            ("{type: integer, multipleOf: 5}", "12", Some(Rule::Bound)),
            ("{type: string, minLength: 1}", r#""""#, Some(Rule::Bound)),
            ("{type: string, maxLength: 1}", r#""é""#, None),
            ("{type: string, maxLength: 1}", r#""ab""#, Some(Rule::Bound)),
            ("{type: string, pattern: '^a$'}", r#""b""#, None),
            ("{type: array, maxItems: 1, items: {type: string}}", r#"["a","b"]"#, Some(Rule::Bound)),
            ("{type: array, items: {type: string}}", r#"["a",null]"#, Some(Rule::Type)),
            ("{type: object, maxProperties: 0}", r#"{"a":1}"#, Some(Rule::Bound)),
            ("{type: object, required: [a], properties: {a: {}}}", "{}", Some(Rule::Required)),
            ("{type: object, additionalProperties: {type: string}}", r#"{"a":1}"#, Some(Rule::Type)),
            ("{type: string, format: uuid}", r#""x""#, Some(Rule::Format)),
            (
                "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
                r#"["a","a"]"#,
                Some(Rule::Duplicate),
            ),
            (
                "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}",
                r#"[{"k":"a"},{"k":"a"}]"#,
                Some(Rule::Duplicate),
            ),
        ] {
            let parsed: Schema = serde_saphyr::from_str(schema).unwrap();
            let found = invalid(&parsed, &Value::read(value).unwrap(), "");
            assert_eq!(found.map(|found| found.rule), rule, "{schema} {value}");
        }
    }
}
