//! Error messages for a file that is no valid YAML, or not the expected YAML, in terms of the author of the file.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::localizer::Localizer;
use serde_saphyr::{DefaultMessageFormatter, Error, Location, Options};

use crate::apimachinery::meant_within;

/// Reads the one document of a file.
///
/// # Errors
/// The text is no YAML, has another type or exceeds a limit, such as [`MOST_ALIASED`]. [`explain`] has the message.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_saphyr::from_str_with_options(text, options())
}

/// Reads all documents of a file.
pub(crate) fn read_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, Error> {
    serde_saphyr::from_multiple_with_options(text, options())
}

/// Returns whether YAML reads a text without quotes as this text, inside of braces as well. Also false for the keywords
/// of YAML 1.1, which some parsers use.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_simple = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$' | '/'));
    let keywords = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];
    text == "." || is_simple && !keywords.contains(&text.to_lowercase().as_str())
}

fn options() -> Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_ALIASED },
    }
}

/// The maximum number of scalars, lists and objects that YAML aliases expand to in one file. Each takes up to 270
/// bytes, 27 MB in total during parsing. 600 bytes of text can expand to a million.
pub const MOST_ALIASED: usize = 100_000;

/// Returns the line of an error, 0 if there is none, and the message.
pub fn explain(error: &Error) -> (u64, String) {
    (error.location().map_or(0, |location| location.line()), message(error.without_snippet()))
}

/// Returns a path with `["…"]` without quotes in a flow mapping of a line, where YAML parses the bracket as a list.
pub(super) fn unquoted_path(text: &str, line: u64) -> Option<&str> {
    let line = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    let is_path = |c: char| c.is_ascii_alphanumeric() || "._-$".contains(c);
    let brackets =
        line.match_indices("[\"").filter(|(at, _)| line.get(..*at).is_some_and(|before| before.contains('{')));
    let mut paths = brackets.filter_map(|(at, _)| {
        let (before, rest) = line.split_at_checked(at)?;
        let start = before.trim_end_matches(is_path);
        let is_bare = before.len() > start.len() && !start.ends_with(['\'', '"', ']']);
        let end = rest.find("\"]").map(|end| at + end + 2)?;
        let tail = line.get(end..)?.trim_start_matches(|c| is_path(c) || "[]\"/".contains(c)).len();
        line.get(start.len()..line.len() - tail).filter(|_| is_bare)
    });
    paths.next()
}

fn message(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => unknown("operation", variant, expected),
        Error::ExpectedMappingEndAfterEnumVariantValue { .. } => {
            "two operations in one entry: begin each with `- `".to_owned()
        }
        Error::AliasError { error, .. } => message(error.without_snippet()),
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_ref().map_or_else(String::new, |key| format!(" {key:?}"));
            format!("the key{key} occurs twice")
        }
        Error::Unexpected { expected, .. } => match *expected {
            "sequence start" => "expected a list: begin each entry with `- `".to_owned(),
            "mapping start" => "expected a map: `key: value`".to_owned(),
            "string scalar" | "scalar" => "expected a single value, found a list or a map".to_owned(),
            other => format!("expected {other}"),
        },
        Error::NullIntoString { .. } => "expected a string, found no value".to_owned(),
        Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
        | Error::ExpectedStringKeyForExternallyTaggedEnum { .. } => {
            "expected an operation as a map with one key: `- move: {…}`".to_owned()
        }
        Error::UnexpectedValueForUnitEnumVariant { .. } => "expected a name without a value".to_owned(),
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("expected {}, found {}", type_of(expected), type_of(unexpected))
        }
        Error::SerdeMissingField { field, .. } => format!("the key {field:?} is missing"),
        Error::InvalidBooleanStrict { .. } => "expected true or false".to_owned(),
        Error::InvalidScalar { ty, .. } => match ty.chars().next() {
            Some('u' | 'i') => "expected an integer".to_owned(),
            Some('f') => "expected a number".to_owned(),
            _ => "expected true or false".to_owned(),
        },
        Error::Eof { .. } => "ends too early".to_owned(),
        Error::AliasReplayLimitExceeded { .. } => {
            format!("aliases expand to more than {MOST_ALIASED} values: write the values out")
        }
        Error::Budget { breach, .. } => too_much(breach),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias contains itself".to_owned(),
        error => error.render_with_formatter(&DefaultMessageFormatter.with_localizer(&WithoutPlace)),
    }
}

/// The message for a file that exceeds the limits of the YAML library. No realistic definition reaches these limits.
fn too_much(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { depth } => {
            format!("{depth} nested lists and objects, more than the limit of {}", depth.saturating_sub(1))
        }
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } | BudgetBreach::ScalarBytes { .. } => {
            "the file exceeds the size limit: divide the file".to_owned()
        }
        BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. } | BudgetBreach::MergeKeys { .. } => {
            "too many anchors and aliases: write the values out".to_owned()
        }
        other => format!("a limit of the YAML reader is exceeded: {other:?}"),
    }
}

/// The message for an error in a part that serde_json parsed.
pub fn explain_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let names: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    match (names.as_slice(), text.strip_prefix("invalid type: ").and_then(|types| types.split_once(", expected "))) {
        ([name], _) if text.starts_with("missing field") => format!("the key {name:?} is missing"),
        ([name, known @ ..], _) if text.starts_with("unknown field") => unknown("key", name, known),
        (_, Some((found, wanted @ ("f64" | "a string")))) => {
            format!("expected {}, found {}", type_of(wanted), type_of(found))
        }
        (_, Some((found, _))) => format!("expected a map, found {}", type_of(found)),
        _ => text,
    }
}

/// The type that serde names, in the words of YAML, and without the value, which may be an address with a password.
fn type_of(named: &str) -> &str {
    let named = named.split(['"', '`']).next().unwrap_or_default().trim_end();
    match named {
        "string" | "a string" | "str" | "borrowed string" => "a string",
        "sequence" | "a sequence" => "a list",
        "map" | "a map" => "a map",
        "boolean" | "bool" => "a boolean",
        "integer" | "floating point" | "f64" => "a number",
        "null" | "unit" | "unit value" | "Option value" => "no value",
        "newtype struct" | "struct" => "a map",
        "unit variant" | "newtype variant" | "struct variant" | "tuple variant" => "a name",
        _ if ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64"].contains(&named) => "an integer",
        _ if named.starts_with("struct ") => "a map",
        _ => named,
    }
}

/// The message of the library without the location, which the problem contains. Rendering also escapes control
/// characters.
struct WithoutPlace;

impl Localizer for WithoutPlace {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }
}

/// The message for an unknown name, with a suggestion.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = meant_within(name, known.iter().copied(), name.len().max(3) / 2);
    let hint = if hint.is_empty() { "." } else { &hint };
    format!("unknown {what} {name:?}{hint} Known names: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only errors are read")]
    enum Operation {
        Move(BTreeMap<String, String>),
        None,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are read")]
    struct File {
        name: Option<String>,
        names: Option<Vec<String>>,
        texts: Option<BTreeMap<String, String>>,
        count: Option<u32>,
        share: Option<f64>,
        on: Option<bool>,
        operation: Option<Operation>,
        json: Option<serde_json::Map<String, serde_json::Value>>,
    }

    /// Words of serde and of the YAML library are for programmers: authors of a file read about lists, maps and values.
    #[test]
    fn wrong_types_are_named_in_yaml_terms() {
        let cases = [
            ("names: a", "expected a list: begin each entry with `- `"),
            ("texts: [a]", "expected a map: `key: value`"),
            ("names: [null]", "expected a string, found no value"),
            ("texts: {a: }", "expected a string, found no value"),
            ("name: {a: b}", "expected a single value, found a list or a map"),
            ("count: x", "expected an integer"),
            ("count: -1", "expected an integer"),
            ("count: [1]", "expected a single value, found a list or a map"),
            ("share: [1]", "expected a single value, found a list or a map"),
            ("on: 3", "expected true or false"),
            ("operation: [a]", "expected an operation as a map with one key: `- move: {…}`"),
            ("operation: {none: 3}", "expected a name without a value"),
            ("json: [a]", "expected a map: `key: value`"),
            ("- a", "expected a map: `key: value`"),
        ];
        let found = cases.map(|(text, _)| (text, explain(&read::<File>(text).unwrap_err()).1));
        assert_eq!(found, cases.map(|(text, message)| (text, message.to_owned())));
    }
}
