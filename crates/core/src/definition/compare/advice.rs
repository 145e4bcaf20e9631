//! What to write where two schemas differ.

use crate::definition::operation::Operation;
use crate::definition::schema::Schema;

/// What to write for an operation that cannot change the type of what it is about.
pub(super) fn retyping(operation: &Operation) -> String {
    let Operation { name, places, .. } = operation;
    match (places.older.first(), places.newer.first()) {
        (Some(one), Some(two)) if operation.is_same() && is_scalar(&one.schema) && is_scalar(&two.schema) => {
            format!("write `type: {{from: {}, to: {}}}` for `{name}`", one.path, two.path)
        }
        _ => format!("`{name}` changes no types: make them alike, or write `drop` and `add` for it"),
    }
}

/// Whether it is a single value.
pub(super) fn is_scalar(schema: &Schema) -> bool {
    !matches!(schema.kind.as_deref(), Some("object" | "array") | None)
}

/// What to do where two versions have nothing but the name of a field in common.
pub(super) fn apart(at: &str) -> String {
    format!(
        "write `{}` and `{}`, so that each version keeps its own",
        advice("drop: PATH", at),
        advice("add: PATH", at)
    )
}

/// The operation that would explain a field, as it is written with `PATH` for the field: inside lists and maps it
/// stands under `each`.
pub(super) fn advice(operation: &str, at: &str) -> String {
    match at.split_once("[*]") {
        Some((list, inside)) => {
            let inside = inside.strip_prefix('.').unwrap_or(inside);
            let inside = if inside.is_empty() { "." } else { inside };
            format!("each: {{in: {list}, operations: [{{{}}}]}}", advice(operation, inside))
        }
        None => operation.replace("PATH", at),
    }
}
