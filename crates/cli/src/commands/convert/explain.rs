//! The changed fields of each operation.

use pointsman_core::webhook::Change;
use unicode_width::UnicodeWidthStr;

use super::conversion_result::ConversionResult;
use crate::commands::output::{counted, talk};
use crate::commands::{format::Format, input::Decided, json_tree::JsonTree, table};
use crate::terminal::columns;

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

/// Prints a table for each object, and a summary.
pub(super) fn print_changes(converted: &[Decided<ConversionResult>]) {
    let width = columns();
    converted.iter().for_each(|decided| print_document(decided, width));
    let all: Vec<&ConversionResult> = converted.iter().flat_map(|decided| &decided.results).collect();
    if let Some(summary) = summary(&all) {
        talk(&summary);
    }
}

fn print_document(decided: &Decided<ConversionResult>, width: Option<usize>) {
    for (object, converted) in decided.document.objects().iter().zip(&decided.results) {
        let to = converted.object.get("apiVersion").and_then(JsonTree::as_str).unwrap_or_default();
        let kind = converted.object.get("kind").and_then(JsonTree::as_str).filter(|kind| *kind != object.kind);
        if to == object.api_version && kind.is_none() {
            talk(&format!("{}: is {to} already", object.label()));
            continue;
        }
        let to = kind.map_or_else(|| to.to_owned(), |kind| format!("{to} {kind}"));
        talk(&format!("{}: {} -> {to}", object.label(), object.api_version));
        let rows: Vec<[String; 4]> = converted.changes.iter().map(cells).collect();
        match rows.is_empty() {
            true => talk("  only the version changed"),
            false => laid_out(&rows, width).lines().for_each(|line| talk(&format!("  {line}"))),
        }
    }
}

/// Formats a table, or a block for each change if the table is wider than the terminal.
fn laid_out(rows: &[[String; 4]], width: Option<usize>) -> String {
    let table = table::table(["OPERATION", "BEFORE", "AFTER", "NOTE"], rows);
    let fits = |width: usize| table.lines().all(|line| line.width() + INDENT <= width);
    if width.is_none_or(fits) {
        return table;
    }
    let blocks = rows.iter().map(|[operation, before, after, note]| {
        let parts = [("before", before), ("after ", after), ("note  ", note)];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        let lines: String = parts.map(|(name, text)| format!("  {name}  {text}\n")).collect();
        format!("{operation}\n{lines}")
    });
    blocks.collect()
}

/// The indentation of each line.
const INDENT: usize = 2;

/// The summary of several tables.
fn summary(all: &[&ConversionResult]) -> Option<String> {
    let changes: Vec<&Change> = all.iter().flat_map(|converted| &converted.changes).collect();
    let kept = changes.iter().filter(|change| change.kept).count();
    let given_back = changes.iter().filter(|change| change.given_back).count();
    let (objects, sum) = (counted(all.len(), "object"), counted(changes.len(), "change"));
    let summary = format!("{objects}, {sum}: {kept} kept for the conversion back, {given_back} restored");
    (all.len() > 1).then_some(summary)
}

/// The cells of a change: operation, fields before and after, and a note.
pub(crate) fn cells(change: &Change) -> [String; 4] {
    let fields = |fields: &[(String, String)]| match fields {
        [] => "-".to_owned(),
        fields => {
            let fields = fields.iter().map(|(field, value)| format!("{field}: {}", table::cell(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
    };
    let note = match (change.kept, change.given_back) {
        (true, true) => "restored, and kept for the conversion back",
        (true, false) => "kept for the conversion back",
        (false, true) => "restored",
        (false, false) if change.after.is_empty() => "the default: filled in again by the conversion back",
        (false, false) if change.before.is_empty() => "filled in",
        (false, false) => "",
    };
    [change.operation.clone(), fields(&change.before), fields(&change.after), note.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_texts_are_printed_as_blocks() {
        let row = ["drop spec.a", "spec.a: true", "-", "kept for the conversion back"].map(str::to_owned);
        let table = laid_out(std::slice::from_ref(&row), Some(80));
        assert!(table.starts_with("OPERATION     BEFORE         AFTER   NOTE\n"), "{table}");
        assert_eq!(laid_out(std::slice::from_ref(&row), None), table);
        let blocks = "drop spec.a\n  before  spec.a: true\n  after   -\n  note    kept for the conversion back\n";
        assert_eq!(laid_out(&[row], Some(40)), blocks);
    }
}
