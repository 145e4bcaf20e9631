//! The names of operations in the summary of a kind and in a trace of a conversion.

use crate::definition::Kind;

/// The names of an operation of a summary: its key with each of its places inside the innermost item.
pub(super) fn known_names(operation: &str) -> Vec<String> {
    let name = |full: String| full.split_once(' ').map(|(name, place)| format!("{name} {}", tail(place)));
    full_names(operation).filter_map(name).collect()
}

/// The line of an operation between two neighbours on some paths, which have `[*]` for each item. 0 if there is none.
pub(super) fn operation_line(kind: &Kind, (one, other): &(String, String), operation: &str, paths: &[String]) -> u64 {
    let steps = kind.steps();
    let mut steps = steps.iter().filter(|step| [&step.from, &step.to].iter().all(|at| [one, other].contains(at)));
    let lines: Vec<_> = steps.next().into_iter().flat_map(|step| step.operations.iter().zip(&step.lines)).collect();
    // Items of several lists may have fields of the same name. The full path is unknown for some operations.
    let full: Vec<String> = paths.iter().map(|path| format!("{operation} {path}")).collect();
    let inside: Vec<String> = paths.iter().map(|path| format!("{operation} {}", tail(path))).collect();
    let by_full = lines.iter().find(|(summary, _)| full_names(summary).any(|name| full.contains(&name)));
    let found = by_full
        .or_else(|| lines.iter().find(|(summary, _)| known_names(summary).iter().any(|name| inside.contains(name))));
    found.map_or(0, |(_, line)| **line)
}

/// The names of an operation of a summary: its key with each of its places.
fn full_names(operation: &str) -> impl Iterator<Item = String> {
    let (name, places) = operation.split_once(' ').unwrap_or((operation, ""));
    places.split(" <-> ").flat_map(|side| side.split(" + ")).map(move |place| format!("{name} {place}"))
}

/// The path inside the innermost item. An operation is written without the items around it.
pub(super) fn tail(path: &str) -> &str {
    path.rsplit_once("].").map_or(path, |(_, inside)| inside).trim_start_matches('.')
}
