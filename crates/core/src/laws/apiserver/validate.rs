//! Validation of a value by the API server, with the schema of the version in which it is written.
//!
//! Sources: `kube-openapi pkg/validation/validate` (types, enums, bounds, required), `apiextensions-apiserver
//! pkg/apiserver/schema/listtype/validation.go` (sets, and lists with keys). Objects made from a schema rarely match
//! its patterns and combinations, so only [`refused`] validates these. Formats other than `uuid` and rules in CEL are
//! not implemented: their violations count as valid.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value as Schema;

use super::keywords;
use super::numbers::{decode, literal};
use crate::apimachinery::{INT64_END, is_dns_label, is_integer_bound};
use crate::laws::schema::{bound, clashes, flag, preserves, property, required};
use crate::laws::value::Value;

/// The violated part of a schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Constraint {
    /// A minimum, maximum, length or count.
    Bound,
    /// A duplicate element in a set, or in a list with keys.
    Duplicate,
    /// The options of a value.
    Enum,
    /// The format of a string.
    Format,
    /// The pattern of a string, or a combination of schemas: `allOf`, `anyOf`, `oneOf` or `not`.
    Keyword,
    /// A required field.
    Required,
    /// The JSON type, or null where null is not allowed.
    Type,
}

/// Why the API server rejects a value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Invalid {
    /// The path, with `/` between the names.
    pub path: String,
    /// The violated constraint.
    pub constraint: Constraint,
    /// The error, for people.
    pub message: String,
}

/// The first reason why the API server would reject the value at this version. `at` is the path of the value.
#[must_use]
pub fn invalid(schema: &Schema, value: &Value, at: &str) -> Option<Invalid> {
    newly_invalid(schema, value, None, at)
}

/// The first reason for the rejection of an update: unchanged values are not validated (`apiextensions-apiserver
/// pkg/apiserver/validation/ratcheting.go`, since 1.30).
#[must_use]
pub fn newly_invalid(schema: &Schema, value: &Value, old: Option<&Value>, at: &str) -> Option<Invalid> {
    violation(schema, value, old, at, &ratcheted(schema, old, &invalid_itself))
}

/// Like [`newly_invalid`], with patterns and combinations of schemas: for objects of users, and for their conversions.
/// `matches` is whether a pattern matches a text ([`matcher`](super::matcher)).
#[must_use]
pub fn refused(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &str,
    matches: &Matches<'_>,
) -> Option<Invalid> {
    let itself = |schema: &Schema, value: &Value| {
        invalid_itself(schema, value).or_else(|| broken_keyword(schema, value, matches))
    };
    let own = violation(schema, value, old, at, &ratcheted(schema, old, &itself));
    own.or_else(|| bad_embedded_within(schema, value, at))
}

/// Without duplicates, if the old object has some (`registry/customresource/strategy.go`).
fn ratcheted<'i>(
    schema: &Schema,
    old: Option<&Value>,
    itself: &'i InvalidItself<'i>,
) -> impl Fn(&Schema, &Value) -> Option<Violated> + 'i {
    let may_repeat = old.is_some_and(|old| has_duplicates(schema, old));
    move |schema, value| {
        itself(schema, value).filter(|(constraint, _)| !may_repeat || *constraint != Constraint::Duplicate)
    }
}

/// Returns whether a set, or a list with keys, has duplicates, at any depth.
fn has_duplicates(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| property(schema, name).is_some_and(|schema| has_duplicates(schema, value))),
        Value::List(elements) => {
            let items = schema.get("items");
            has_clash(schema, elements)
                || elements.iter().any(|one| items.is_some_and(|items| has_duplicates(items, one)))
        }
        _ => false,
    }
}

fn has_clash(schema: &Schema, elements: &[Value]) -> bool {
    let mut before = elements.iter().enumerate();
    before.any(|(i, one)| clashes(schema, elements.get(..i).unwrap_or_default(), one))
}

/// The first embedded object that is no complete object. Unchanged ones are validated too (`strategy.go`).
fn bad_embedded_within(schema: &Schema, value: &Value, at: &str) -> Option<Invalid> {
    if let Some((constraint, message)) = bad_embedded(schema, value) {
        return Some(Invalid { path: at.to_owned(), constraint, message: message.into_owned() });
    }
    match value {
        Value::Object(members) => members
            .iter()
            .find_map(|(name, value)| bad_embedded_within(property(schema, name)?, value, &format!("{at}/{name}"))),
        Value::List(elements) => {
            let items = schema.get("items")?;
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(i, element)| bad_embedded_within(items, element, &format!("{at}/{i}")))
        }
        _ => None,
    }
}

/// Why a value is no complete object, where the schema requires one (`pkg/apiserver/schema/objectmeta/validation.go`).
/// Its labels and names are not validated.
fn bad_embedded(schema: &Schema, value: &Value) -> Option<Violated> {
    if !flag(schema, "x-kubernetes-embedded-resource") || !value.is_object() {
        return None;
    }
    let is_valid = |name: &str, text: &str| match name {
        "apiVersion" => !text.is_empty() && text.matches('/').count() <= 1,
        _ => is_dns_label(&text.to_lowercase()) && text.starts_with(|first: char| first.is_ascii_alphabetic()),
    };
    let bad = ["apiVersion", "kind"].into_iter().find_map(|name| match value.get(name) {
        None => Some((Constraint::Required, format!("is an object without {name}"))),
        Some(Value::Text(text)) if is_valid(name, text) => None,
        Some(_) => Some((Constraint::Format, format!("is an object with an invalid {name}"))),
    });
    let is_bad_metadata = value.get("metadata").is_some_and(|metadata| !metadata.is_object());
    let metadata = || is_bad_metadata.then(|| (Constraint::Type, "is an object with invalid metadata".to_owned()));
    bad.or_else(metadata).map(|(constraint, message)| (constraint, message.into()))
}

fn broken_keyword(schema: &Schema, value: &Value, matches: &Matches<'_>) -> Option<Violated> {
    // `SchemaValidator` judges only the type and the options of null, and a part of a combination has no type.
    if *value == Value::Null {
        return None;
    }
    let of_part = |schema: &Schema, value: &Value| match value {
        Value::Null => schema.get("enum").map(|_| (Constraint::Enum, "is not an allowed value".into())),
        value => invalid_itself(schema, value).or_else(|| broken_keyword(schema, value, matches)),
    };
    let fits = |part: &Schema| violation(part, value, None, "", &of_part).is_none();
    Some((Constraint::Keyword, keywords::broken(schema, value, fits, matches)?.into()))
}

/// Returns whether a pattern matches a text. The pattern is first.
pub type Matches<'m> = dyn Fn(&str, &str) -> bool + 'm;

/// A violated constraint, and the error.
type Violated = (Constraint, Cow<'static, str>);

/// Judges a value without its contents.
type InvalidItself<'i> = dyn Fn(&Schema, &Value) -> Option<Violated> + 'i;

fn violation(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &str,
    itself: &InvalidItself<'_>,
) -> Option<Invalid> {
    if old.is_some_and(|old| is_unchanged(schema, value, old)) {
        return None;
    }
    if let Some(name) = missing(schema, value) {
        let message = "is required".to_owned();
        return Some(Invalid { path: format!("{at}/{name}"), constraint: Constraint::Required, message });
    }
    if let Some((constraint, message)) = itself(schema, value) {
        let shown: String = value.to_text().chars().take(200).collect();
        return Some(Invalid { path: at.to_owned(), constraint, message: format!("{message}: {shown}") });
    }
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let before = old.and_then(|old| old.get(name));
            violation(property(schema, name)?, value, before, &format!("{at}/{name}"), itself)
        }),
        Value::List(elements) => {
            let items = schema.get("items")?;
            let mut elements = elements.iter().enumerate();
            elements.find_map(|(i, element)| {
                violation(items, element, keyed(schema, old, element), &format!("{at}/{i}"), itself)
            })
        }
        _ => None,
    }
}

/// Returns whether the API server finds that an update did not change a value. An object with a member that has no
/// schema always counts as changed (`apiserver pkg/cel/common/equality.go`, `CachedDeepEqual`).
fn is_unchanged(schema: &Schema, value: &Value, old: &Value) -> bool {
    match (value, old) {
        (Value::Object(members), Value::Object(before)) => {
            let is_member_unchanged = |(name, value): (&String, &Value)| {
                let member = property(schema, name).zip(before.get(name));
                member.is_some_and(|(schema, old)| is_unchanged(schema, value, old))
            };
            members.len() == before.len() && members.iter().all(is_member_unchanged)
        }
        (Value::List(elements), Value::List(before)) if schema.get("x-kubernetes-list-map-keys").is_some() => {
            let is_element_unchanged = |element: &Value| {
                let item = schema.get("items").zip(keyed(schema, Some(old), element));
                item.is_some_and(|(schema, old)| is_unchanged(schema, element, old))
            };
            elements.len() == before.len() && elements.iter().all(is_element_unchanged)
        }
        (value, old) => value == old,
    }
}

/// A required field that the value lacks. Fields that the API server prunes do not count, because no object has them.
fn missing<'s>(schema: &'s Schema, value: &Value) -> Option<&'s str> {
    let Value::Object(members) = value else { return None };
    // A part of a combination has no type, and does not prune.
    let is_part = schema.get("type").is_none();
    let can_be_there = |name: &str| is_part || property(schema, name).is_some() || preserves(schema);
    required(schema).find(|name| !members.contains_key(*name) && can_be_there(name))
}

/// Validates the value itself without its contents. Returns the constraint and the error.
pub(in crate::laws) fn invalid_itself(schema: &Schema, value: &Value) -> Option<Violated> {
    own_violation(schema, value).map(|(constraint, message)| (constraint, message.into()))
}

fn own_violation(schema: &Schema, value: &Value) -> Option<(Constraint, &'static str)> {
    let is_null = *value == Value::Null;
    if !(is_null && flag(schema, "nullable") || has_type(schema, value)) {
        return Some((Constraint::Type, "has a wrong type"));
    }
    let options = schema.get("enum").and_then(Schema::as_array).filter(|options| !options.is_empty());
    // Null is no option, even if listed (`basicCommonValidator`).
    if options.is_some_and(|options| is_null || !options.iter().any(|option| literal(option) == spelled(value))) {
        return Some((Constraint::Enum, "is not an allowed value"));
    }
    let broken = match value {
        Value::Number(number) => number_bound(schema, number),
        Value::Text(text) => text_bound(schema, text),
        Value::List(elements) => count(schema, elements.len(), ITEMS),
        Value::Object(members) => count(schema, members.len(), FIELDS),
        _ => None,
    };
    if broken.is_some() {
        return broken;
    }
    match value {
        Value::Object(_) => missing(schema, value).map(|_| (Constraint::Required, "lacks a field")),
        Value::List(elements) => {
            has_clash(schema, elements).then_some((Constraint::Duplicate, "names an element twice"))
        }
        _ => None,
    }
}

/// A value as it will be written: 1.0 matches the option 1.
fn spelled(value: &Value) -> Value {
    let mut value = value.clone();
    decode(&mut value).ok();
    value
}

/// The previous item of an item, which only a list with keys determines.
fn keyed<'v>(schema: &Schema, old: Option<&'v Value>, element: &Value) -> Option<&'v Value> {
    let Some(Value::List(before)) = old.filter(|_| schema.get("x-kubernetes-list-map-keys").is_some()) else {
        return None;
    };
    before.iter().find(|before| clashes(schema, std::slice::from_ref(*before), element))
}

/// Returns whether the API server treats a number as an integer: an int64, or a float that [`is_nearly_whole`].
fn is_whole(number: &str) -> bool {
    as_int64(number).is_some() || number.parse().is_ok_and(is_nearly_whole)
}

/// A float with a negligible fraction, and in the exact range of floats: 1.0 and 1e2, not 18446744073709551615
/// (`go-openapi/swag convert.go`, `IsFloat64AJSONInteger`). For negative numbers no fraction is negligible.
fn is_nearly_whole(float: f64) -> bool {
    let whole = float.trunc();
    let is_near = whole > 0.0 && (float - whole) / (float + whole) < 1e-9;
    float.abs() <= MAX_SAFE_INTEGER && (whole == float || is_near)
}

/// The number, if Go stores it as int64 instead of float64.
fn as_int64(number: &str) -> Option<i64> {
    if number.contains(['.', 'e', 'E']) { None } else { number.parse().ok() }
}

/// 2^53 - 1.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

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
        (None, _) => !int_or_string,
    }
}

/// Compares an int64 with bounds truncated to int64: 0 is not below a minimum of 0.5. If a bound does not fit the type
/// and its format, no value is valid (`kube-openapi pkg/validation/validate/validator.go`, `numberValidator`, and
/// `values.go`, `IsValueValidAgainstRange`).
fn number_bound(schema: &Schema, number: &str) -> Option<(Constraint, &'static str)> {
    let float: f64 = number.parse().ok()?;
    let keyword = |key: &str| schema.get(key).and_then(Schema::as_str).unwrap_or_default();
    let fits = |float: f64| match (keyword("type"), keyword("format")) {
        ("integer", format) => is_integer_bound(format, float),
        ("number", "float") => (float as f32).is_finite(),
        _ => true,
    };
    // A value is read as int64 where it is one.
    let is_in_format = fits(float) || as_int64(number).is_some() && keyword("format") != "int32";
    let whole = as_int64(number);
    // On amd64, Go converts a float outside int64 to the smallest int64.
    let truncated = |limit: f64| if limit.abs() < INT64_END { limit as i64 } else { i64::MIN };
    let order = |limit: f64| match whole {
        Some(whole) => Some(whole.cmp(&truncated(limit))),
        None => float.partial_cmp(&limit),
    };
    let limits = ["minimum", "maximum", "multipleOf"].map(|name| bound(schema, name));
    let is_limit_outside = limits.into_iter().flatten().any(|limit| !fits(limit));
    let beyond = |name: &str, exclusive: &str, side: Ordering| {
        bound(schema, name).is_some_and(|limit| {
            let order = order(limit);
            order == Some(side) || flag(schema, exclusive) && order == Some(Ordering::Equal)
        })
    };
    let multiple = |of: f64| match whole {
        Some(whole) => whole.checked_rem(truncated(of)) == Some(0),
        None if of < 1.0 => is_nearly_whole(1.0 / of * float),
        None => is_nearly_whole(float / of),
    };
    let uneven = bound(schema, "multipleOf").is_some_and(|of| of < 0.0 || !multiple(of));
    let broken = [
        (!is_in_format, "does not fit its format"),
        (is_limit_outside, "has a bound that does not fit the type, so that no value is valid"),
        (beyond("minimum", "exclusiveMinimum", Ordering::Less), "is too small"),
        (beyond("maximum", "exclusiveMaximum", Ordering::Greater), "is too large"),
        (uneven, "is no multiple of the required number"),
    ];
    broken.into_iter().find(|(is_broken, _)| *is_broken).map(|(_, what)| (Constraint::Bound, what))
}

fn text_bound(schema: &Schema, text: &str) -> Option<(Constraint, &'static str)> {
    if schema.get("format").and_then(Schema::as_str) == Some("uuid") && !is_uuid(text) {
        return Some((Constraint::Format, "is no UUID"));
    }
    count(schema, text.chars().count(), LENGTH)
}

/// Returns whether a text is a UUID. Each hyphen is optional (`kube-openapi pkg/validation/strfmt/default.go`).
fn is_uuid(text: &str) -> bool {
    let mut rest = Some(text);
    for digits in [8, 4, 4, 4, 12] {
        let parts = rest
            .and_then(|rest| rest.strip_prefix('-').filter(|_| digits != 8).unwrap_or(rest).split_at_checked(digits));
        rest = parts.filter(|(part, _)| part.chars().all(|digit| digit.is_ascii_hexdigit())).map(|(_, rest)| rest);
    }
    rest == Some("")
}

/// The keywords of a count, and the error beyond each.
type Count = [(&'static str, &'static str); 2];

const LENGTH: Count = [("minLength", "is too short"), ("maxLength", "is too long")];
const ITEMS: Count = [("minItems", "has too few items"), ("maxItems", "has too many items")];
const FIELDS: Count = [("minProperties", "has too few fields"), ("maxProperties", "has too many fields")];

fn count(
    schema: &Schema,
    size: usize,
    [(least, too_few), (most, too_many)]: Count,
) -> Option<(Constraint, &'static str)> {
    let size = size as f64;
    let is_below = bound(schema, least).is_some_and(|least| size < least);
    let is_above = bound(schema, most).is_some_and(|most| size > most);
    [(is_below, too_few), (is_above, too_many)]
        .into_iter()
        .find(|(is, _)| *is)
        .map(|(_, what)| (Constraint::Bound, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_fields_skip_validation() {
        let schema: Schema = serde_saphyr::from_str(
            "{type: object, required: [a], properties: {a: {}, b: {type: integer, maximum: 1}, u: {type: object, x-kubernetes-preserve-unknown-fields: true}, l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}, n: {type: integer}}}}}}",
        )
        .unwrap();
        for (old, new, constraint) in [
            (r#"{"b":7}"#, r#"{"b":7}"#, None),
            (r#"{"a":1,"b":7}"#, r#"{"a":2,"b":7}"#, None),
            (r#"{"a":1,"b":7}"#, r#"{"a":1,"b":8}"#, Some(Constraint::Bound)),
            (r#"{"b":7}"#, r#"{"b":1}"#, Some(Constraint::Required)),
            (r#"{"b":7,"u":{}}"#, r#"{"b":7,"u":{}}"#, None),
            // A member without a schema counts as changed; seen on a kube-apiserver 1.36.
            (r#"{"b":7,"u":{"x":1}}"#, r#"{"b":7,"u":{"x":1}}"#, Some(Constraint::Required)),
            (r#"{"a":1,"l":[{"k":"x","n":""}]}"#, r#"{"a":1,"l":[{"k":"y"},{"k":"x","n":""}]}"#, None),
            (r#"{"a":1,"l":[{"k":"x","n":""}]}"#, r#"{"a":1,"l":[{"k":"y","n":""}]}"#, Some(Constraint::Type)),
            // An old duplicate allows another one.
            (r#"{"a":1,"l":[{"k":"x"},{"k":"x"}]}"#, r#"{"a":1,"l":[{"k":"x"},{"k":"x"},{"k":"x"}]}"#, None),
            (r#"{"a":1,"l":[{"k":"x"}]}"#, r#"{"a":1,"l":[{"k":"x"},{"k":"x"}]}"#, Some(Constraint::Duplicate)),
        ] {
            let (old, new) = (Value::read(old).unwrap(), Value::read(new).unwrap());
            let found = newly_invalid(&schema, &new, Some(&old), "");
            assert_eq!(found.map(|found| found.constraint), constraint, "{} after {}", new.to_text(), old.to_text());
        }
    }

    #[test]
    fn null_is_none_of_the_options() {
        // validate/validator.go, basicCommonValidator; seen on a kube-apiserver 1.36.
        for schema in ["{type: string, nullable: true, enum: [a]}", "{type: string, nullable: true, enum: [a, null]}"] {
            let parsed: Schema = serde_saphyr::from_str(schema).unwrap();
            let found = invalid(&parsed, &Value::Null, "");
            assert_eq!(found.map(|found| found.constraint), Some(Constraint::Enum), "{schema}");
        }
    }

    #[track_caller]
    fn judge(cases: &[(&str, &str, Option<Constraint>)]) {
        for (schema, value, constraint) in cases {
            let parsed: Schema = serde_saphyr::from_str(schema).unwrap();
            let found = invalid(&parsed, &Value::read(value).unwrap(), "");
            assert_eq!(found.map(|found| found.constraint), *constraint, "{schema} {value}");
        }
    }

    #[test]
    fn number_validation_matches_apiserver() {
        // kube-openapi pkg/validation/validate/*_test.go
        judge(&[
            ("{type: integer}", "1.0", None),
            ("{type: integer}", "1e2", None),
            ("{type: integer}", "1.5", Some(Constraint::Type)),
            ("{type: integer}", "-9223372036854775808", None),
            ("{type: integer}", "18446744073709551615", Some(Constraint::Type)),
            ("{type: integer}", "9007199254740991.0", None),
            ("{type: integer}", "9007199254740992.0", Some(Constraint::Type)),
            ("{type: integer, format: int32}", "2147483648", Some(Constraint::Bound)),
            ("{type: number, format: float}", "1e39", Some(Constraint::Bound)),
            ("{type: number, minimum: 0.5}", "0", None),
            ("{type: number, minimum: 0.5}", "0.1", Some(Constraint::Bound)),
            ("{type: integer, minimum: 0.5}", "7", Some(Constraint::Bound)),
            ("{type: number, multipleOf: 0.5}", "1", Some(Constraint::Bound)),
            ("{type: number, multipleOf: 0.5}", "1.5", None),
            ("{type: number}", "1", None),
            ("{x-kubernetes-int-or-string: true}", r#""80%""#, None),
            ("{x-kubernetes-int-or-string: true}", "80", None),
            ("{x-kubernetes-int-or-string: true}", "true", Some(Constraint::Type)),
            ("{x-kubernetes-int-or-string: true}", "1.5", Some(Constraint::Type)),
            ("{x-kubernetes-int-or-string: true}", "605190702680.5731", None), // seen on kube-apiserver 1.36.3
            ("{type: integer}", "605190702680.5731", Some(Constraint::Bound)),
            ("{type: number, enum: [1.0, 2.5]}", "1", None),
            ("{type: integer, minimum: 1}", "1", None),
            ("{type: integer, minimum: 1}", "0", Some(Constraint::Bound)),
            ("{type: integer, minimum: 1, exclusiveMinimum: true}", "1", Some(Constraint::Bound)),
            ("{type: number, maximum: 1.5}", "1.6", Some(Constraint::Bound)),
            ("{type: integer, multipleOf: 5}", "12", Some(Constraint::Bound)),
        ]);
    }

    #[test]
    fn value_validation_matches_apiserver() {
        // The same; the last two: listtype/validation_test.go
        judge(&[
            ("{type: string}", r#""x""#, None),
            ("{type: string}", "1", Some(Constraint::Type)),
            ("{type: string}", "null", Some(Constraint::Type)),
            ("{type: string, nullable: true}", "null", None),
            ("{x-kubernetes-preserve-unknown-fields: true}", "[1,{}]", None),
            ("{x-kubernetes-preserve-unknown-fields: true}", "null", None),
            ("{type: string, enum: [a, b]}", r#""c""#, Some(Constraint::Enum)),
            ("{type: string, minLength: 1}", r#""""#, Some(Constraint::Bound)),
            ("{type: string, maxLength: 1}", r#""é""#, None),
            ("{type: string, maxLength: 1}", r#""ab""#, Some(Constraint::Bound)),
            ("{type: string, pattern: '^a$'}", r#""b""#, None),
            ("{type: array, maxItems: 1, items: {type: string}}", r#"["a","b"]"#, Some(Constraint::Bound)),
            ("{type: array, items: {type: string}}", r#"["a",null]"#, Some(Constraint::Type)),
            ("{type: object, maxProperties: 0}", r#"{"a":1}"#, Some(Constraint::Bound)),
            (
                "{type: object, required: [a], additionalProperties: {type: string}}",
                r#"{"b": "x"}"#,
                Some(Constraint::Required),
            ),
            (
                "{type: object, required: [a], x-kubernetes-preserve-unknown-fields: true}",
                "{}",
                Some(Constraint::Required),
            ),
            ("{type: object, required: [a], properties: {b: {}}}", "{}", None),
            ("{type: object, required: [a], properties: {a: {}}}", "{}", Some(Constraint::Required)),
            ("{type: object, additionalProperties: {type: string}}", r#"{"a":1}"#, Some(Constraint::Type)),
            ("{type: string, format: uuid}", r#""x""#, Some(Constraint::Format)),
            (
                "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
                r#"["a","a"]"#,
                Some(Constraint::Duplicate),
            ),
            (
                "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}",
                r#"[{"k":"a"},{"k":"a"}]"#,
                Some(Constraint::Duplicate),
            ),
        ]);
    }

    /// A real API server judges the same values (`tests/cluster/model.rs`).
    #[test]
    fn patterns_and_combinations_match_apiserver() {
        let matches = |pattern: &str, text: &str| super::super::matcher(pattern)(text);
        let cases: Schema = serde_saphyr::from_str(include_str!("../../../../../tests/data/keywords.yaml")).unwrap();
        for case in cases.as_array().unwrap() {
            for (key, is_refused) in [("accepted", false), ("refused", true)] {
                for value in case[key].as_array().into_iter().flatten() {
                    let invalid = refused(&case["schema"], &literal(value), None, "", &matches);
                    assert_eq!(invalid.is_some(), is_refused, "{value} by {}: {invalid:?}", case["schema"]);
                }
            }
        }
        let pattern: Schema = serde_saphyr::from_str(r"{type: string, pattern: '^(a$'}").unwrap();
        assert_eq!(refused(&pattern, &literal(&"b".into()), None, "", &matches), None, "no pattern for Go either");
    }
}
