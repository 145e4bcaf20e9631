//! Checks that every served version can represent an object within the size limit of annotations.

use super::findings::Findings;
use super::subject::OpenedWrite;
use crate::apimachinery::{FieldError, Reason};
use crate::webhook::convert::{BUDGET, INCOMPLETE};

/// Reports data that a write would lose, or that another version could not read. `size` is the size of the object as
/// sent, without `managedFields`, which is never kept.
///
/// Rejects any write of an object that was read incompletely, because the API server stores the whole object.
pub(super) fn complete(opened: &mut OpenedWrite<'_, '_>, size: usize) -> Findings {
    let mut found = Findings::default();
    if let Some(missing) = opened.new.annotations.text(INCOMPLETE) {
        found.errors.push(too_large(format!(
            "the object was read without {missing}, which exceeded the annotation limit: write the object at \
                 the version in this name, or make the fields smaller that only this version has"
        )));
        return found;
    }
    if size < SMALL {
        return found;
    }
    let kind = opened.kind;
    for at in kind.versions.indices().filter(|at| *at != opened.at && kind.version_at(*at).served) {
        let mut there = opened.new.clone();
        if there.convert(kind, at).is_err() {
            continue;
        }
        let overflow = there.annotations.overflow();
        if at == kind.versions.newest() {
            opened.newest = Some(there);
        }
        let Some(size) = overflow else { continue };
        let error = too_large(format!(
            "{} cannot represent this object: annotations would be {size} bytes with the values of {}, and the \
                 API server allows {BUDGET}: make these fields or other annotations smaller",
            kind.version_at(at).name,
            kind.version_at(opened.at).name,
        ));
        let was_so = opened
            .old
            .clone()
            .is_some_and(|mut old| old.convert(kind, at).is_ok() && old.annotations.overflow().is_some());
        if was_so { found.known.push(error) } else { found.errors.push(error) }
    }
    found
}

fn too_large(detail: String) -> FieldError {
    FieldError { path: "metadata.annotations".to_owned(), reason: Reason::Invalid, value: None, detail }
}

/// Below this size no value of an object is too large to keep: an entry of a kept annotation takes less than sixty
/// bytes in addition to its value, and stands for at least two bytes.
const SMALL: usize = 4 * 1024;
