//! The names of operations in the summary of a kind and in a trace of a conversion.

use crate::definition::Kind;

/// The names of an operation of a summary: its key with each of its places.
pub(super) fn known_names(operation: &str) -> Vec<String> {
    let (name, places) = operation.split_once(' ').unwrap_or((operation, ""));
    let places = places.split(" <-> ").flat_map(|side| side.split(" + "));
    places.map(|place| format!("{name} {}", tail(place))).collect()
}

/// The line of an operation between two neighbours on some paths. 0 if there is none.
pub(super) fn operation_line<'p>(
    kind: &Kind,
    (one, other): &(String, String),
    operation: &str,
    paths: impl Iterator<Item = &'p str>,
) -> u64 {
    let names: Vec<String> = paths.map(|path| format!("{operation} {}", tail(path))).collect();
    let steps = kind.steps();
    let mut steps = steps.iter().filter(|step| [&step.from, &step.to].iter().all(|at| [one, other].contains(at)));
    let lines = steps.next().into_iter().flat_map(|step| step.operations.iter().zip(&step.lines));
    let mut found = lines.filter(|(summary, _)| known_names(summary).iter().any(|known| names.contains(known)));
    found.next().map_or(0, |(_, line)| *line)
}

/// The path inside the innermost item. An operation is written without the items around it.
pub(super) fn tail(path: &str) -> &str {
    path.rsplit_once("].").map_or(path, |(_, inside)| inside).trim_start_matches('.')
}
