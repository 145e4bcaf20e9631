//! Parses YAML.

use serde_json::value::RawValue;

use pointsman_core::definition::yaml::{Content, Node, Number, YamlError, parse};

use crate::commands::json_tree::JsonTree;

/// Parses one document. An empty document is null.
///
/// # Errors
/// The text is no YAML. The line of the error is relative to the document.
pub(crate) fn read(text: &str) -> Result<JsonTree, YamlError> {
    parse(text).map(json)
}

/// The JSON of a node, with the text of numbers from the source, if it is valid JSON.
fn json(node: Node) -> JsonTree {
    match node.content {
        Content::Null => JsonTree::Null,
        Content::Bool(value, _) => JsonTree::Bool(value),
        Content::Number(_, text) if is_number(&text) => JsonTree::Number(text),
        // Whole numbers are written without a fraction, as kubectl does for `08`.
        Content::Number(Number::Float(number), _) if number.abs() >= 1e15 => {
            JsonTree::Number(serde_json::Value::from(number).to_string())
        }
        Content::Number(number, _) => JsonTree::Number(number.to_string()),
        Content::Text(text) => JsonTree::String(text),
        Content::List(items) => JsonTree::Array(items.into_iter().map(json).collect()),
        Content::Map(members) => {
            JsonTree::Object(members.into_iter().map(|(name, value)| (name.value, json(value))).collect())
        }
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get() == text)
}
