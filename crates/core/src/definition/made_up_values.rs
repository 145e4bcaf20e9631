//! Values of a definition that hide a value of the object: a field that both versions require under different names is
//! dropped and added with a value each.
//!
//! With `drop: {field: spec.timeout, value: 5m}` and `add: {field: spec.timeoutSeconds, value: 300}`, no law breaks,
//! because the timeout is kept. But readers of the newer version see 300 seconds for each object.

use super::operation::{Level, Operation};
use super::path::Path;
use super::place::{Fill, Place};
use super::problems::Warning;
use super::side::Side;
use super::step::Step;
use crate::apimachinery::go_nanoseconds;

/// The made-up values of a step, each with the line of the `add`.
pub(super) fn made_up_values(step: &Step) -> Vec<Warning> {
    let mut found = Vec::new();
    collect(step, &step.level, "", &mut found);
    found
}

fn collect(step: &Step, level: &Level, prefix: &str, found: &mut Vec<Warning>) {
    for operation in &level.operations {
        if let Some(items) = operation.items()
            && let Some(list) = operation.places.newer.first()
        {
            collect(step, &items.level, &format!("{}[*]", list.path.after(prefix)), found);
        }
        let Some((added, value)) = only(operation, Side::Newer) else { continue };
        let mut dropped = level.operations.iter().filter_map(|other| only(other, Side::Older));
        let Some((dropped, _)) = dropped.find(|(dropped, _)| are_related(&dropped.path, &added.path)) else {
            continue;
        };
        let (newer, older) = (&step.versions.newer, &step.versions.older);
        let message = format!(
            "{}: readers of {newer} see {value} for every value of {} in {older}: {}",
            added.path.after(prefix),
            dropped.path.after(prefix),
            proposal(dropped, added),
        );
        found.push(Warning { line: operation.line, message });
    }
}

/// The field of one version alone that this version requires, with the value of the definition.
fn only(operation: &Operation, side: Side) -> Option<(&Place, String)> {
    let (places, others) = (operation.places.of(side), operation.places.of(side.other()));
    let place = places.first().filter(|place| others.is_empty() && place.required && !place.fills_default())?;
    match &place.fill {
        Some(Fill::Value(value)) if operation.line > 0 => Some((place, value.to_text())),
        _ => None,
    }
}

/// Returns whether two fields probably have one meaning: one name contains the other, as `timeout` and
/// `timeoutSeconds`, or they are equal at different places.
fn are_related(one: &Path, two: &Path) -> bool {
    let leaf = |path: &Path| path.names().last().map(|name| name.to_lowercase()).unwrap_or_default();
    let (one, two) = (leaf(one), leaf(two));
    one.len().min(two.len()) >= 3 && (one.contains(&two) || two.contains(&one))
}

fn proposal(older: &Place, newer: &Place) -> String {
    let (from, to) = (&older.path, &newer.path);
    let kind = |place: &Place| place.schema.kind.clone().unwrap_or_default();
    let is_duration = |place: &Place| match &place.fill {
        Some(Fill::Value(value)) => value.as_str().is_some_and(|text| go_nanoseconds(&text).is_some()),
        _ => false,
    };
    match (kind(older).as_str(), kind(newer).as_str()) {
        (one, two) if one == two && from != to => format!("convert it with `move: {{from: {from}, to: {to}}}`"),
        ("string", "integer") | ("integer", "string") if is_duration(older) || is_duration(newer) => {
            format!("convert it with `type: {{from: {from}, to: {to}, as: seconds}}`")
        }
        ("string", "integer" | "number" | "boolean") | ("integer" | "number" | "boolean", "string") => {
            format!("convert it with `type: {{from: {from}, to: {to}}}`")
        }
        _ => "convert it with `compute`".to_owned(),
    }
}
