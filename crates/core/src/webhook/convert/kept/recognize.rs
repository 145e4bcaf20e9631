//! Which annotations are ours: those that speak of a field for which a step keeps something.

use super::annotation::{ANNOTATIONS, DISPLACED, Kept};
use crate::definition::{Level, Path, Step};

/// The entries that a step wrote. Anything else is somebody else's annotation.
pub(in crate::webhook::convert) fn recognized<'t>(text: &'t str, step: &Step) -> Option<Kept<'t>> {
    let known = |path: &str| {
        matches!(path, ANNOTATIONS | DISPLACED)
            || is_in_status(path, step)
            || is_place(path, &step.level)
    };
    Kept::parse(text).filter(|kept| kept.paths().any(known))
}

fn is_in_status(path: &str, step: &Step) -> bool {
    let mut status = step.status.iter().flat_map(|status| {
        [
            &status.hashes.requested,
            &status.hashes.completed,
            &status.requests.requested,
            &status.requests.completed,
        ]
    });
    status.any(|place| place.id == path)
}

/// Whether an operation keeps something under this path, or an object on the way to its field has it.
fn is_place(path: &str, level: &Level) -> bool {
    level.operations.iter().any(|operation| {
        let one_way = operation.items().is_none();
        let mut places = operation.places.older.iter().chain(&operation.places.newer);
        places.any(|place| place.id == path || (one_way && is_ancestor(path, &place.path)))
    })
}

fn is_ancestor(id: &str, path: &Path) -> bool {
    let mut path = path.clone();
    while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
        if parent.to_string() == id {
            return true;
        }
        path = parent;
    }
    false
}
