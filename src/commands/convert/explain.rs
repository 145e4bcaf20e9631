//! Which operation changed which field.

use pointsman_core::webhook::Change;

use super::Done;
use crate::commands::input::Document;
use crate::commands::node::Node;
use crate::commands::output::{Format, short, table as columns, talk};

/// One JSON document: each object with its changes.
pub(super) fn json(converted: &[(Document, Vec<Done>)]) -> String {
    let items = converted.iter().flat_map(|(_, done)| done);
    let items = items.map(|done| {
        let changes = done.changes.iter().map(change).collect();
        Node::map([("object", done.node.clone()), ("changes", Node::List(changes))])
    });
    Format::Json.write(&Node::map([("items", Node::List(items.collect()))]))
}

fn change(change: &Change) -> Node {
    let fields = |fields: &[(String, String)]| {
        let fields = fields.iter().map(|(field, value)| {
            let value = Node::from_json(value).unwrap_or_else(|_| Node::text(value));
            Node::map([("field", Node::text(field)), ("value", value)])
        });
        Node::List(fields.collect())
    };
    Node::map([
        ("operation", Node::text(&change.operation)),
        ("before", fields(&change.before)),
        ("after", fields(&change.after)),
        ("kept", Node::Bool(change.kept)),
        ("givenBack", Node::Bool(change.given_back)),
    ])
}

/// A table for people.
pub(super) fn table(document: &Document, done: &[Done]) {
    for (object, done) in document.objects().iter().zip(done) {
        let to = done.node.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
        if to == object.api_version {
            talk(&format!("{}: is {to} already", object.label()));
            continue;
        }
        talk(&format!("{}: {} -> {to}", object.label(), object.api_version));
        let rows: Vec<[String; 4]> = done.changes.iter().map(row).collect();
        match rows.is_empty() {
            true => talk("  nothing changed but the version"),
            false => {
                let table = columns(["OPERATION", "BEFORE", "AFTER", "NOTE"], &rows);
                table.lines().for_each(|line| talk(&format!("  {line}")));
            }
        }
    }
}

fn row(change: &Change) -> [String; 4] {
    let fields = |fields: &[(String, String)]| match fields {
        [] => "-".to_owned(),
        fields => {
            let fields = fields.iter().map(|(field, value)| format!("{field}: {}", short(value)));
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
