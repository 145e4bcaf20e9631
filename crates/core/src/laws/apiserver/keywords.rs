//! Patterns, and combinations of schemas. Source: `kube-openapi pkg/validation/validate` (`schema_props.go`, `string`).

use serde_json::Value as Schema;

use crate::apimachinery::go_regex;
use crate::laws::value::Value;

/// The error of a value that breaks a keyword. `fits` is whether the value fits a part of a combination, `matches`
/// whether a pattern matches a text.
pub(super) fn broken(
    schema: &Schema,
    value: &Value,
    fits: impl Fn(&Schema) -> bool,
    matches: impl Fn(&str, &str) -> bool,
) -> Option<String> {
    if let (Value::Text(text), Some(pattern)) = (value, schema.get("pattern").and_then(Schema::as_str))
        && !matches(pattern, text)
    {
        return Some(format!("does not match the pattern {pattern}"));
    }
    let fitting = |keyword: &str| {
        let parts = schema.get(keyword).and_then(Schema::as_array).filter(|parts| !parts.is_empty())?;
        Some((parts.iter().filter(|part| fits(part)).count(), parts.len()))
    };
    let broken = [
        ("allOf", fitting("allOf").is_some_and(|(fitting, all)| fitting < all)),
        ("anyOf", fitting("anyOf").is_some_and(|(fitting, _)| fitting == 0)),
        ("oneOf", fitting("oneOf").is_some_and(|(fitting, _)| fitting != 1)),
        ("not", schema.get("not").is_some_and(fits)),
    ];
    let (keyword, _) = broken.into_iter().find(|(_, is_broken)| *is_broken)?;
    Some(format!("does not fit {keyword} of the schema"))
}

/// Compiles a pattern in Go's syntax: the result returns whether a text contains a match. A pattern that takes more
/// than 64 MiB matches each text.
#[must_use]
pub fn matcher(pattern: &str) -> Box<dyn Fn(&str) -> bool> {
    let regex = go_regex(pattern);
    Box::new(move |text| regex.as_ref().is_none_or(|regex| regex.is_match(text)))
}
