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
/// stands under `each`. It can be written into a definition as it stands.
pub(super) fn advice(operation: &str, at: &str) -> String {
    match at_items(at) {
        Some((list, inside)) => {
            let inside = inside.strip_prefix('.').unwrap_or(inside);
            format!("each: {{in: {}, operations: [{{{}}}]}}", in_yaml(list), advice(operation, inside))
        }
        None => operation.replace("PATH", &in_yaml(at)),
    }
}

/// A place up to the first `[*]`, and behind it. In the name of a field, which stands in quotes, it is a part of that.
fn at_items(at: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    for (index, _) in at.char_indices() {
        let rest = at.get(index..)?;
        if is_quoted {
            is_quoted = !rest.starts_with("\"]");
        } else if rest.starts_with("[\"") {
            is_quoted = true;
        } else if let Some(behind) = rest.strip_prefix("[*]") {
            return Some((at.get(..index)?, behind));
        }
    }
    None
}

/// A path as YAML takes it inside of braces: in quotes, where it would be read as something else.
fn in_yaml(path: &str) -> String {
    let is_plain = path.starts_with(|first: char| first.is_ascii_alphabetic())
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$'));
    // The words of YAML 1.1 as well, which some read.
    let words = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];
    match path {
        "" => ".".to_owned(),
        path if is_plain && !words.contains(&path.to_lowercase().as_str()) => path.to_owned(),
        path => format!("'{}'", path.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_advised_can_be_written_as_it_stands() {
        let told = |at: &str| advice("drop: PATH", at);
        assert_eq!(told("spec.a"), "drop: spec.a");
        assert_eq!(told("spec.a[*]"), "each: {in: spec.a, operations: [{drop: .}]}");
        assert_eq!(
            told("spec.a[*][*].b"),
            "each: {in: spec.a, operations: [{each: {in: ., operations: [{drop: b}]}}]}"
        );
        assert_eq!(
            told("spec[\"p.q\"][*].[\"r.s\"]"),
            "each: {in: 'spec[\"p.q\"]', operations: [{drop: '[\"r.s\"]'}]}"
        );
        assert_eq!(told("spec.a[*].y"), "each: {in: spec.a, operations: [{drop: 'y'}]}");
        assert_eq!(told("spec[\"[*]\"]"), "drop: 'spec[\"[*]\"]'");
        assert_eq!(told("spec[\"it's\"]"), "drop: 'spec[\"it''s\"]'");
    }
}
