//! Values that a version does not show: conversion keeps them for the version that has them.

use std::collections::{BTreeMap, BTreeSet};

use super::conversion_path::Trip;
use super::operation_names::operation_line;
use super::value::Value;
use crate::definition::Kind;
use crate::webhook::Change;

/// A value that clients of one version see, and clients of its neighbour do not.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenValue {
    /// The version that has the value, and the version that does not show it.
    pub versions: (String, String),
    /// The key of the operation in the definition.
    pub operation: String,
    /// The line in the definition. 0 if unknown.
    pub line: u64,
    /// The fields that the operation reads: path and value.
    pub before: Vec<(String, String)>,
    /// The fields that the other version shows instead: path and value. Empty if there are none.
    pub after: Vec<(String, String)>,
    /// The smallest object of a run with such a value.
    pub object: Value,
}

/// The hidden values of a run: the smallest object for each operation and direction.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenValues(BTreeMap<(String, String, String), (Rank, HiddenValue)>);

/// The rank of an object as an example: smaller is better.
type Rank = (bool, usize);

impl HiddenValues {
    /// Records the values that a conversion between neighbours kept.
    pub(super) fn note(&mut self, trip: &Trip<'_>, object: &Value, changes: &[Change]) {
        let versions = (trip.from.version.to_owned(), trip.to.version.to_owned());
        let mut hiding = changes.iter().filter(|change| hides(change)).peekable();
        let length = if hiding.peek().is_some() { object.to_text().len() } else { 0 };
        for change in hiding {
            let Some((path, _)) = change.before.first() else { continue };
            let place = format!("{} {}", change.operation, without_items(path));
            let key = (versions.0.clone(), versions.1.clone(), place);
            let rank = (is_little(&change.before), length);
            if self.0.get(&key).is_none_or(|(known, _)| rank < *known) {
                let hidden = HiddenValue {
                    versions: versions.clone(),
                    operation: change.operation.clone(),
                    line: 0,
                    before: change.before.clone(),
                    after: change.after.clone(),
                    object: object.clone(),
                };
                self.0.insert(key, (rank, hidden));
            }
        }
    }

    /// The recorded values, ordered by version and line.
    pub(super) fn into_list(self, kind: &Kind) -> Vec<HiddenValue> {
        let mut found: Vec<HiddenValue> = self.0.into_values().map(|(_, hidden)| hidden).collect();
        for hidden in &mut found {
            let paths: Vec<String> =
                hidden.before.iter().chain(&hidden.after).map(|(path, _)| without_items(path)).collect();
            hidden.line = operation_line(kind, &hidden.versions, &hidden.operation, &paths);
        }
        let order = |version: &str| kind.versions().position(|name| name == version);
        found.sort_by_key(|hidden| (order(&hidden.versions.0), order(&hidden.versions.1), hidden.line));
        found
    }
}

/// The fields of an object that a conversion kept without showing them, without item positions.
pub(super) fn hidden_paths(changes: &[Change]) -> Vec<String> {
    let paths = changes.iter().filter(|change| hides(change)).filter_map(|change| change.before.first());
    let paths: BTreeSet<String> = paths.map(|(path, _)| without_items(path)).collect();
    paths.into_iter().collect()
}

/// Returns whether an operation kept a value. Operations on items are checked separately.
fn hides(change: &Change) -> bool {
    change.kept && change.operation != "each" && is_value(&change.before)
}

/// Returns whether all values are unset booleans, unset numbers or empty. Other values are better examples.
fn is_little(before: &[(String, String)]) -> bool {
    before.iter().all(|(_, value)| matches!(value.as_str(), "false" | "0" | "-0" | "[]" | "{}" | "null"))
}

/// Returns whether there is a visible value. Null and the empty string count as no value.
fn is_value(before: &[(String, String)]) -> bool {
    before.iter().any(|(_, value)| !matches!(value.as_str(), "null" | "\"\""))
}

/// A path without item positions. A quoted name stays: `metadata.annotations["example.com/tier"]`.
fn without_items(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, inside)) = rest.split_once('[') {
        out.push_str(before);
        let end = if inside.starts_with('"') { "\"]" } else { "]" };
        let (name, after) = inside.split_once(end).unwrap_or((inside, ""));
        match end {
            "]" => out.push_str("[*]"),
            _ => out.extend(["[", name, end]),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::without_items;

    #[test]
    fn names_stay_and_positions_do_not() {
        for (path, expected) in [
            ("spec.l[3].m[0]", "spec.l[*].m[*]"),
            (r#"metadata.annotations["a.b/c"]"#, r#"metadata.annotations["a.b/c"]"#),
            (r#"spec.l[3]["a]b"].c"#, r#"spec.l[*]["a]b"].c"#),
        ] {
            assert_eq!(without_items(path), expected);
        }
    }
}
