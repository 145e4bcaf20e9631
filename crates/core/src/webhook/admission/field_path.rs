//! The path of a field in another version of its kind.
//!
//! With `rename: {from: spec.size, to: spec.volume}` and `split: {field: spec.hostPort, into: [spec.host, spec.port]}`,
//! from v2 to v1:
//!
//! ```text
//! spec.volume.max    spec.size.max     moved, as its holder is; the value is the same
//! spec.port          spec.hostPort     a part of it; the value is another
//! spec.color         spec.color        no operation names it
//! ```

use crate::definition::{Kind, Operation, Path, Side, VersionIndex};

/// The path of a field in another version. For a field that is split, the path of the first part.
pub(super) fn field_in(kind: &Kind, path: &Path, from: VersionIndex, to: VersionIndex) -> Path {
    let mut path = path.clone();
    for (side, step) in kind.steps_between(from, to) {
        let operations = &step.level.operations;
        let there = moved(operations, &path, side).map(|(_, there)| there);
        path = there.or_else(|| carried(operations, &path, side)).unwrap_or(path);
    }
    path
}

/// The path of a field in another version, if the value is the same there, so that a rule applies to both.
pub(crate) fn same_field(kind: &Kind, path: &Path, from: VersionIndex, to: VersionIndex) -> Option<Path> {
    let mut path = path.clone();
    for (side, step) in kind.steps_between(from, to) {
        let operations = &step.level.operations;
        match moved(operations, &path, side) {
            Some((operation, there)) if operation.is_same() => path = there,
            Some(_) => return None,
            None if carried(operations, &path, side).is_some() => return None,
            None => {}
        }
    }
    Some(path)
}

/// The most specific operation for a field, and the resulting path.
fn moved<'k>(operations: &'k [Operation], path: &Path, to: Side) -> Option<(&'k Operation, Path)> {
    let places = |operation: &'k Operation| {
        let there = &operation.places.of(to).first()?.path;
        Some((operation.places.of(to.other()), there))
    };
    let around = operations.iter().filter_map(|operation| {
        let (here, there) = places(operation)?;
        let here = here.iter().find(|here| path.starts_with(&here.path))?;
        let path = if is_one_to_one(operation) { path.moved(&here.path, there) } else { there.clone() };
        Some((here.path.len(), operation, path))
    });
    let best = around.max_by_key(|(length, ..)| *length);
    best.map(|(_, operation, path)| (operation, path))
}

/// The path of a field whose members are moved: that of its first member.
fn carried(operations: &[Operation], path: &Path, to: Side) -> Option<Path> {
    operations.iter().find_map(|operation| {
        let there = operation.places.of(to).first()?.path.clone();
        let here = operation.places.of(to.other());
        let here = here.iter().find(|here| here.path.starts_with(path))?;
        if !is_one_to_one(operation) {
            return Some(there);
        }
        let deeper = path.len()..here.path.len();
        Some(deeper.fold(there, |there, _| match there.parent() {
            Some(parent) if !parent.is_empty() => parent,
            _ => there,
        }))
    })
}

/// Returns whether one field maps to one field with the same contents.
fn is_one_to_one(operation: &Operation) -> bool {
    let one = |side| operation.places.of(side).len() == 1;
    one(Side::Older) && one(Side::Newer)
}
