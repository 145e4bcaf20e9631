//! Which operation changed which field.

use pointsman_core::webhook::Change;

use super::conversion_result::ConversionResult;
use crate::commands::{format::Format, input::Decided, json_tree::JsonTree, output::talk, table};

/// One JSON document: each object with its changes.
pub(super) fn json(converted: &[Decided<ConversionResult>]) -> String {
    let items = converted.iter().flat_map(|decided| &decided.results);
    let items = items.map(|converted| {
        let changes = converted.changes.iter().map(change).collect();
        JsonTree::object([("object", converted.object.clone()), ("changes", JsonTree::Array(changes))])
    });
    Format::Json.write(&JsonTree::object([("items", JsonTree::Array(items.collect()))]))
}

fn change(change: &Change) -> JsonTree {
    let fields = |fields: &[(String, String)]| {
        let fields = fields.iter().map(|(field, value)| {
            let value = JsonTree::from_json(value).unwrap_or_else(|_| JsonTree::string(value));
            JsonTree::object([("field", JsonTree::string(field)), ("value", value)])
        });
        JsonTree::Array(fields.collect())
    };
    JsonTree::object([
        ("operation", JsonTree::string(&change.operation)),
        ("before", fields(&change.before)),
        ("after", fields(&change.after)),
        ("kept", JsonTree::Bool(change.kept)),
        ("givenBack", JsonTree::Bool(change.given_back)),
    ])
}

/// A table for people.
pub(super) fn table(decided: &Decided<ConversionResult>) {
    for (object, converted) in decided.document.objects().iter().zip(&decided.results) {
        let to = converted.object.get("apiVersion").and_then(JsonTree::as_str).unwrap_or_default();
        if to == object.api_version {
            talk(&format!("{}: is {to} already", object.label()));
            continue;
        }
        talk(&format!("{}: {} -> {to}", object.label(), object.api_version));
        let rows: Vec<[String; 4]> = converted.changes.iter().map(row).collect();
        match rows.is_empty() {
            true => talk("  nothing changed but the version"),
            false => {
                let table = table::table(["OPERATION", "BEFORE", "AFTER", "NOTE"], &rows);
                table.lines().for_each(|line| talk(&format!("  {line}")));
            }
        }
    }
}

fn row(change: &Change) -> [String; 4] {
    let fields = |fields: &[(String, String)]| match fields {
        [] => "-".to_owned(),
        fields => {
            let fields = fields.iter().map(|(field, value)| format!("{field}: {}", table::cell(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
    };
    let note = match (change.kept, change.given_back) {
        (true, true) => "given back, and kept for the way back",
        (true, false) => "kept for the way back",
        (false, true) => "given back",
        (false, false) if change.after.is_empty() => "the default: filled in again on the way back",
        (false, false) if change.before.is_empty() => "filled in",
        (false, false) => "",
    };
    [change.operation.clone(), fields(&change.before), fields(&change.after), note.to_owned()]
}
