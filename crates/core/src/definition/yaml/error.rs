//! Error messages for a file that is no valid YAML, or not the expected YAML, in terms of the author of the file.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::apimachinery::meant_within;

/// Why a text or a node is not what was expected.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a message and its place")]
pub struct YamlError {
    /// The line from 1. 0 if it is unknown.
    pub line: u64,
    /// The error, without the line.
    pub message: String,
}

impl YamlError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { line: 0, message: message.into() }
    }

    /// The same error, at a line if it has none.
    pub(super) fn at(mut self, line: u64) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        self
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for YamlError {}

impl de::Error for YamlError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // It may quote the file, and is printed to a terminal.
        let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        Self::new(message.to_string().chars().map(shown).collect::<String>())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {}, found {}", type_of(&expected.to_string()), type_of(&found.to_string())))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("operation", variant, expected))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown("key", field, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(missing(field))
    }
}

/// The message for an error in a part that serde_json parsed.
pub fn explain_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let names: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    match (names.as_slice(), text.strip_prefix("invalid type: ").and_then(|types| types.split_once(", expected "))) {
        ([name], _) if text.starts_with("missing field") => missing(name),
        ([name, known @ ..], _) if text.starts_with("unknown field") => unknown("key", name, known),
        (_, Some((found, wanted @ ("f64" | "a string")))) => {
            format!("expected {}, found {}", type_of(wanted), type_of(found))
        }
        (_, Some((found, _))) => format!("expected a map, found {}", type_of(found)),
        _ => text,
    }
}

fn missing(name: &str) -> String {
    format!("the key {name:?} is missing")
}

/// The message for an unknown name, with a suggestion.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = meant_within(name, known.iter().copied(), name.len().max(3) / 2);
    let hint = if hint.is_empty() { "." } else { &hint };
    format!("unknown {what} {name:?}{hint} Known names: {}", known.join(", "))
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
