//! The changes between two objects, as a JSON Patch.

use super::alignment::{ElementChange, alignment};
use super::review::PatchOperation;
use crate::json::{Json, Members, pointer_token};

/// Returns the patch from the first to the second object. Only parsed parts of the second object are compared. Its
/// members have the order of the first, some removed, others appended.
pub(super) fn changes(old: &Json<'_>, new: &Json<'_>) -> Vec<PatchOperation> {
    let mut patch = Vec::new();
    compare(old.clone(), new, &mut String::new(), &mut patch);
    patch
}

fn compare(mut old: Json<'_>, new: &Json<'_>, path: &mut String, patch: &mut Vec<PatchOperation>) {
    match new {
        Json::Object(members) => {
            if let Ok(Some(before)) = old.open() {
                return compare_members(std::mem::take(before), members, path, patch);
            }
        }
        Json::Array(elements) => {
            if let Some(before) = old.open_array() {
                return compare_elements(std::mem::take(before), elements, path, patch);
            }
        }
        Json::Text(_) if old.same(new) => return,
        Json::Text(_) => {}
    }
    patch.push(PatchOperation { op: "replace", path: path.clone(), value: new.to_text() });
}

fn compare_members(old: Members<'_>, new: &Members<'_>, path: &mut String, patch: &mut Vec<PatchOperation>) {
    let mut before = old.into_pairs().peekable();
    let mut removed: Vec<_> = Vec::new();
    for (name, value) in new.iter() {
        while let Some(other) = before.next_if(|(other, _)| other != name) {
            removed.push(other);
        }
        // A member that was removed and added again is at the end.
        let was = before.next().or_else(|| {
            let at = removed.iter().position(|(other, _)| other == name)?;
            Some(removed.remove(at))
        });
        inside(path, name, |path| match was {
            Some((_, was)) => compare(was, value, path, patch),
            None => patch.push(PatchOperation { op: "add", path: path.clone(), value: value.to_text() }),
        });
    }
    for (name, _) in removed.into_iter().chain(before) {
        inside(path, &name, |path| {
            patch.push(PatchOperation { op: "remove", path: path.clone(), value: String::new() });
        });
    }
}

fn compare_elements(old: Vec<Json<'_>>, new: &[Json<'_>], path: &mut String, patch: &mut Vec<PatchOperation>) {
    if old.len() == new.len() {
        for (at, (was, is)) in old.into_iter().zip(new).enumerate() {
            inside(path, &at.to_string(), |path| compare(was, is, path, patch));
        }
        return;
    }
    if old.len().max(new.len()) > FEW {
        patch.push(PatchOperation { op: "replace", path: path.clone(), value: Json::Array(new.to_vec()).to_text() });
        return;
    }
    let changes = alignment(&old, new);
    let (mut old, mut new, mut at) = (old.into_iter(), new.iter(), 0_usize);
    for change in changes {
        let (was, is) = match change {
            ElementChange::Paired => (old.next(), new.next()),
            ElementChange::Removed => (old.next(), None),
            ElementChange::Added => (None, new.next()),
        };
        inside(path, &at.to_string(), |path| match (was, is) {
            (Some(was), Some(is)) => compare(was, is, path, patch),
            (Some(_), None) => {
                patch.push(PatchOperation { op: "remove", path: path.clone(), value: String::new() });
            }
            (None, Some(is)) => {
                patch.push(PatchOperation { op: "add", path: path.clone(), value: is.to_text() });
            }
            (None, None) => {}
        });
        at += usize::from(change != ElementChange::Removed);
    }
}

/// Runs work with a path segment appended.
fn inside(path: &mut String, name: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&pointer_token(name));
    work(path);
    path.truncate(length);
}

/// The maximum length of lists that are compared by element. Longer lists are replaced as a whole, because the
/// comparison takes quadratic time.
const FEW: usize = 64;
