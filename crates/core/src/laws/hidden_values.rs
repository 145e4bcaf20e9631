//! Values that a version does not show: conversion keeps them for the version that has them.

use std::collections::{BTreeMap, BTreeSet};

use super::conversion_path::Trip;
use super::operation_names::operation_line;
use super::value::Value;
use crate::definition::Kind;
use crate::webhook::Change;

/// A value that readers of one version see and readers of its neighbour do not.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenValue {
    /// The version that has the value, and the version that does not show it.
    pub versions: (String, String),
    /// The operation, by its key in the definition.
    pub operation: String,
    /// Its line in the definition; 0 where it cannot be found.
    pub line: u64,
    /// The fields that the operation reads: path and value.
    pub before: Vec<(String, String)>,
    /// What the other version shows in their place: path and value. Empty where it shows nothing.
    pub after: Vec<(String, String)>,
    /// The smallest object of a run that has such a value.
    pub object: Value,
}

/// The values that a run saw hidden: the smallest object for each operation and direction.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenValues(BTreeMap<(String, String, String), HiddenValue>);

impl HiddenValues {
    /// Notes what a conversion between neighbours kept of an object.
    pub(super) fn note(&mut self, trip: &Trip<'_>, object: &Value, changes: &[Change]) {
        let versions = (trip.from.version.to_owned(), trip.to.version.to_owned());
        for change in changes.iter().filter(|change| hides(change)) {
            let Some((path, _)) = change.before.first() else { continue };
            let place = format!("{} {}", change.operation, without_items(path));
            let key = (versions.0.clone(), versions.1.clone(), place);
            let rank = rank(&change.before, object);
            if self.0.get(&key).is_none_or(|known| rank < self::rank(&known.before, &known.object)) {
                let hidden = HiddenValue {
                    versions: versions.clone(),
                    operation: change.operation.clone(),
                    line: 0,
                    before: change.before.clone(),
                    after: change.after.clone(),
                    object: object.clone(),
                };
                self.0.insert(key, hidden);
            }
        }
    }

    /// What was noted, in the order of the versions and lines.
    pub(super) fn into_list(self, kind: &Kind) -> Vec<HiddenValue> {
        let mut found: Vec<HiddenValue> = self.0.into_values().collect();
        for hidden in &mut found {
            let paths = hidden.before.iter().chain(&hidden.after).map(|(path, _)| path.as_str());
            hidden.line = operation_line(kind, &hidden.versions, &hidden.operation, paths);
        }
        let order = |version: &str| kind.versions().position(|name| name == version);
        found.sort_by_key(|hidden| (order(&hidden.versions.0), order(&hidden.versions.1), hidden.line));
        found
    }
}

/// The fields of an object that a conversion kept and did not show, without the places of items.
pub(super) fn hidden_paths(changes: &[Change]) -> Vec<String> {
    let paths = changes.iter().filter(|change| hides(change)).filter_map(|change| change.before.first());
    let paths: BTreeSet<String> = paths.map(|(path, _)| without_items(path)).collect();
    paths.into_iter().collect()
}

/// Whether an operation kept a value. The operations on items are looked at one by one.
fn hides(change: &Change) -> bool {
    change.kept && change.operation != "each" && is_value(&change.before)
}

/// How well an object shows a hidden value: an unset boolean or number shows little; small objects are read first.
fn rank(before: &[(String, String)], object: &Value) -> (bool, usize) {
    let is_little =
        before.iter().all(|(_, value)| matches!(value.as_str(), "false" | "0" | "-0" | "[]" | "{}" | "null"));
    (is_little, object.to_text().len())
}

/// Whether there is something to see: null and the empty string mean no value.
fn is_value(before: &[(String, String)]) -> bool {
    before.iter().any(|(_, value)| !matches!(value.as_str(), "null" | "\"\""))
}

/// A path for every item of its lists and maps.
fn without_items(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, inside)) = rest.split_once('[') {
        out.push_str(before);
        out.push_str("[*]");
        rest = inside.split_once(']').map_or("", |(_, rest)| rest);
    }
    out + rest
}
