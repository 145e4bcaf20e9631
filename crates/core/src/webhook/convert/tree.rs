//! Access to values along paths. Parses the objects on a path, everything else stays text.

use super::error::ConvertError;
use crate::definition::{Path, Required};
use crate::json::{Json, Members};

/// The place after `depth` names of `path`, for a message.
fn place(prefix: &str, path: &Path, depth: usize) -> String {
    let mut at = Path::default();
    for name in path.names().iter().take(depth) {
        at = at.join(name);
    }
    at.after(prefix)
}

/// Parses the value after `depth` names of `path`.
fn open<'t, 'a>(
    json: &'t mut Json<'a>,
    prefix: &str,
    path: &Path,
    depth: usize,
) -> Result<Option<&'t mut Members<'a>>, ConvertError> {
    if json.is_null() {
        return Ok(None);
    }
    if !json.is_object() {
        return Err(ConvertError::NotAnObject { path: place(prefix, path, depth), found: json.a_type_name() });
    }
    json.open().map_err(|duplicate| ConvertError::named_twice(&place(prefix, path, depth), duplicate))
}

/// The object that contains the field at `path`. `None` if a parent is absent or null.
fn holder<'t, 'a>(
    root: &'t mut Json<'a>,
    prefix: &str,
    path: &Path,
) -> Result<Option<&'t mut Members<'a>>, ConvertError> {
    let Some((_, way)) = path.names().split_last() else {
        return Ok(None);
    };
    let Some(mut members) = open(root, prefix, path, 0)? else {
        return Ok(None);
    };
    for (depth, name) in way.iter().enumerate() {
        let Some(next) = members.get_mut(name) else {
            return Ok(None);
        };
        let Some(next) = open(next, prefix, path, depth + 1)? else {
            return Ok(None);
        };
        members = next;
    }
    Ok(Some(members))
}

/// The value at a path.
pub(crate) fn get<'t, 'a>(
    root: &'t mut Json<'a>,
    prefix: &str,
    path: &Path,
) -> Result<Option<&'t mut Json<'a>>, ConvertError> {
    match path.names().last() {
        None => Ok(Some(root)),
        Some(name) => Ok(holder(root, prefix, path)?.and_then(|members| members.get_mut(name))),
    }
}

/// Removes and returns the value at a path.
pub(super) fn take<'a>(root: &mut Json<'a>, prefix: &str, path: &Path) -> Result<Option<Json<'a>>, ConvertError> {
    match path.names().last() {
        None => Ok(Some(std::mem::replace(root, Json::NULL))),
        Some(name) => Ok(holder(root, prefix, path)?.and_then(|members| members.remove(name))),
    }
}

/// Sets the value at a path. Creates absent parents.
pub(super) fn put<'a>(root: &mut Json<'a>, path: &Path, value: Json<'a>) -> Result<(), ConvertError> {
    let Some((last, way)) = path.names().split_last() else {
        *root = value;
        return Ok(());
    };
    let mut here = root;
    for depth in 0..=way.len() {
        if here.is_null() {
            *here = Json::Object(Members::default());
        }
        let Some(members) = open(here, "", path, depth)? else {
            return Ok(());
        };
        let Some(name) = way.get(depth) else {
            members.set(last, value);
            return Ok(());
        };
        if members.get(name).is_none() {
            members.set(name, Json::Object(Members::default()));
        }
        let Some(next) = members.get_mut(name) else {
            return Ok(());
        };
        here = next;
    }
    Ok(())
}

/// Returns whether a field is present, and not null unless that is allowed.
pub(super) fn has(root: &mut Json<'_>, Required { path, nullable }: &Required) -> bool {
    let value = get(root, "", path).ok().flatten();
    value.is_some_and(|value| *nullable || !value.is_null())
}

/// Returns whether the object that contains a field exists.
pub(crate) fn has_holder(root: &mut Json<'_>, path: &Path) -> bool {
    matches!(holder(root, "", path), Ok(Some(_)))
}

/// Returns whether the top-level object that contains a field exists. Kept values of a removed object are not restored.
pub(super) fn has_top(root: &Json<'_>, path: &Path) -> bool {
    match path.names() {
        [top, _, ..] => match root {
            Json::Object(members) => members.get(top).is_some_and(Json::is_object),
            closed => closed.get(top).is_some_and(|top| top.is_object()),
        },
        _ => true,
    }
}
