//! Finds the operation that is responsible for a violation, and its line.

use super::conversion_path::{Breach, Trip};
use super::operation_names::tail;
use super::value::{Value, shown};
use crate::definition::Kind;
use crate::webhook::Change;

/// The operation that read or wrote the wrong place, and its line. Of several, the one with the most specific path.
/// Otherwise the operation that should have, or without a place, the only operation that ran.
pub(super) fn at_fault(trip: &Trip<'_>, object: &Value, breach: &Breach) -> (Option<String>, u64) {
    let mut changes = Vec::new();
    if let Ok((there, traced)) = trip.explained(object) {
        changes = traced;
        changes.extend(trip.back().explained(&there).into_iter().flat_map(|(_, traced)| traced));
    }
    let kind = trip.from.kind;
    let describe_change = |change: &Change| (Some(describe_change(trip, change)), line_of(kind, change));
    let Some(at) = breach.at.as_ref().map(|way| shown(way)) else {
        return match changes.as_slice() {
            [change] => describe_change(change),
            _ => (None, 0),
        };
    };
    let nearness = |change: &Change| change.before.iter().chain(&change.after).map(|(path, _)| near(path, &at)).max();
    if let Some(nearest) = changes.iter().max_by_key(|change| nearness(change)).filter(|it| nearness(it) > Some(1)) {
        return describe_change(nearest);
    }
    let steps = kind.steps();
    let written = steps.iter().flat_map(|step| step.operations.iter().zip(&step.lines));
    let nearness = |operation: &str| operation.split(' ').skip(1).map(|path| near(path, &at)).max();
    let nearest = written.max_by_key(|(operation, _)| nearness(operation));
    let nearest = nearest.filter(|(operation, _)| nearness(operation) > Some(1));
    nearest.map_or((None, 0), |(operation, line)| (Some(format!("{operation}, {}", trip.name())), *line))
}

/// The number of leading names that a path and a place share.
fn near(path: &str, at: &str) -> usize {
    let path = path.replace(['.', '['], "/").replace([']', '"'], "");
    path.split('/').zip(at.split('/')).take_while(|(one, two)| one == two || *one == "*").count()
}

/// Describes the effect of an operation in one line.
fn describe_change(trip: &Trip<'_>, change: &Change) -> String {
    let paths = |all: &[(String, String)]| all.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(" + ");
    let (before, after) = (paths(&change.before), paths(&change.after));
    let arrow = if before.is_empty() || after.is_empty() { "" } else { " -> " };
    format!("{} {before}{arrow}{after}, {}", change.operation, trip.name())
}

/// The line of an operation in the definition. 0 if unknown.
fn line_of(kind: &Kind, change: &Change) -> u64 {
    let changed: Vec<&String> = change.before.iter().chain(&change.after).map(|(path, _)| path).collect();
    let steps = kind.steps();
    let said = steps.iter().flat_map(|step| step.operations.iter().zip(&step.lines));
    let said: Vec<(Vec<&str>, u64)> = said
        .filter_map(|(operation, line)| {
            let (name, places) = operation.split_once(' ')?;
            let places = places.split(" <-> ").flat_map(|side| side.split(" + "));
            (name == change.operation).then(|| (places.collect(), *line))
        })
        .collect();
    let of = |same: &dyn Fn(&str, &str) -> bool| {
        let mut named = said.iter();
        named.find(|(places, _)| places.iter().any(|place| changed.iter().any(|path| same(place, path))))
    };
    let exact = of(&|place, path| any_item(place) == any_item(path));
    exact.or_else(|| of(&|place, path| tail(place) == tail(path))).map_or(0, |(_, line)| *line)
}

/// A path with all bracketed parts replaced by `[]`.
fn any_item(path: &str) -> String {
    let mut pieces = path.split('[');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |path, piece| format!("{path}[]{}", piece.split_once(']').map_or("", |(_, rest)| rest)))
}
