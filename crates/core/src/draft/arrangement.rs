//! The order of the operations in a finished draft.

use super::entry::{Entry, Operation};
use crate::definition::Path;

/// Sorts operations: guesses, proposals for both versions, lists, then fields of one version. Marks fields that each
/// version keeps for itself.
pub(super) fn arranged(mut entries: Vec<Entry>) -> Vec<Entry> {
    let added: Vec<Path> = entries.iter().filter_map(|entry| entry.operation.field_of("add")).collect();
    let dropped: Vec<Path> = entries.iter().filter_map(|entry| entry.operation.field_of("drop")).collect();
    for entry in &mut entries {
        if let Operation::Each(_, inside) = &mut entry.operation {
            *inside = arranged(std::mem::take(inside));
        }
        let [drop, add] = ["drop", "add"].map(|name| entry.operation.field_of(name));
        if let Some(field) = drop.filter(|field| added.contains(field)) {
            entry.reason = Some(APART.to_owned());
            entry.question = Some(format!("the values of {field} are not converted"));
        } else if add.is_some_and(|field| dropped.contains(&field)) {
            entry.reason = Some(APART.to_owned());
        }
    }
    entries.sort_by_key(|entry| (place(entry), apart_field(entry)));
    entries
}

const APART: &str = "no operation converts the types, so that each version keeps its own value";

fn place(entry: &Entry) -> u8 {
    match &entry.operation {
        _ if entry.reason.as_deref() == Some(APART) => 3,
        Operation::Each(..) => 2,
        Operation::Line(name, _) => match name.as_str() {
            "drop" => 4,
            "add" => 5,
            _ if entry.reason.is_some() => 0,
            _ => 1,
        },
    }
}

/// Keeps the two operations of one field together.
fn apart_field(entry: &Entry) -> Option<Path> {
    let is_apart = entry.reason.as_deref() == Some(APART);
    ["drop", "add"].iter().find_map(|name| entry.operation.field_of(name)).filter(|_| is_apart)
}
