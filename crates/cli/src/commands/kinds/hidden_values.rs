//! Values that a version does not show, for people and for programs.

use pointsman_core::laws::HiddenValue;

use super::violations::whole;
use crate::commands::json_tree::JsonTree;

/// A line for each operation and direction. Empty if every version shows every value.
pub(super) fn text(hidden: &[HiddenValue]) -> String {
    if hidden.is_empty() {
        return String::new();
    }
    let mut text = "  hidden values of generated objects, kept for the version with the field:\n".to_owned();
    // These hide every value of a field, and other operations only unusual values.
    let (whole, other): (Vec<_>, Vec<_>) =
        hidden.iter().partition(|hidden| matches!(hidden.operation.as_str(), "add" | "drop"));
    let listed = whole.into_iter().chain(other).take(LINES);
    for HiddenValue { versions: (from, to), operation, line, before, after, .. } in listed {
        let shown = match after.is_empty() {
            true => format!("{to} shows no value"),
            false => format!("{to} shows {}", fields(after)),
        };
        // Some operations follow from the schemas, or from another operation at the same place.
        let place = if *line == 0 { "implied".to_owned() } else { format!("line {line}") };
        text.push_str(&format!("    {place}, {operation}: {from} has {}; {shown}\n", fields(before)));
    }
    if hidden.len() > LINES {
        text.push_str(&format!("    and {} more: see -o json\n", hidden.len() - LINES));
    }
    text
}

/// The value with its object.
pub(super) fn json(hidden: &HiddenValue) -> JsonTree {
    let fields = |fields: &[(String, String)]| {
        let field = |(path, value): &(String, String)| {
            let value = JsonTree::from_json(value).unwrap_or_else(|_| JsonTree::string(value));
            JsonTree::object([("path", JsonTree::string(path)), ("value", value)])
        };
        JsonTree::Array(fields.iter().map(field).collect())
    };
    JsonTree::object([
        ("from", JsonTree::string(&hidden.versions.0)),
        ("to", JsonTree::string(&hidden.versions.1)),
        ("operation", JsonTree::string(&hidden.operation)),
        ("line", JsonTree::Number(hidden.line.to_string())),
        ("has", fields(&hidden.before)),
        ("shows", fields(&hidden.after)),
        ("object", whole(&hidden.object)),
    ])
}

fn fields(fields: &[(String, String)]) -> String {
    let field = |(path, value): &(String, String)| {
        let cut: String = value.chars().take(READABLE).collect();
        let more = if cut.len() < value.len() { "…" } else { "" };
        format!("{path}: {cut}{more}")
    };
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

/// The maximum number of lines.
const LINES: usize = 40;

/// The maximum number of characters of a value in a line.
const READABLE: usize = 60;
