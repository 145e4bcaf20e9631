//! Reading, taking and putting values along paths. Objects on the way are opened, everything else stays text.

use super::error::ConvertError;
use crate::definition::Path;
use crate::json::{Json, Members};

/// What stood where an object on the way to a field is needed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Was {
    Absent,
    Empty,
    Null,
}

/// The place that `depth` names of `path` lead to, for a message.
fn place(prefix: &str, path: &Path, depth: usize) -> String {
    let mut at = Path::default();
    for name in path.names().iter().take(depth) {
        at = at.join(name);
    }
    match (prefix.is_empty(), at.is_empty()) {
        (true, _) => at.to_string(),
        (false, true) => prefix.to_owned(),
        (false, false) => format!("{prefix}.{at}"),
    }
}

/// Opens the value that `depth` names of `path` lead to.
fn open<'t, 'a>(
    json: &'t mut Json<'a>,
    prefix: &str,
    path: &Path,
    depth: usize,
) -> Result<Option<&'t mut Members<'a>>, ConvertError> {
    if json.is_null() {
        return Ok(None);
    }
    let found = json.a_type_name();
    match json.open() {
        Ok(Some(members)) => Ok(Some(members)),
        Ok(None) => Err(ConvertError::NotAnObject { path: place(prefix, path, depth), found }),
        Err(duplicate) => Err(ConvertError::named_twice(&place(prefix, path, depth), duplicate)),
    }
}

/// The object that holds the field at `path`. `None` where an object on the way is absent or null.
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
pub(in crate::webhook) fn get<'t, 'a>(
    root: &'t mut Json<'a>,
    prefix: &str,
    path: &Path,
) -> Result<Option<&'t mut Json<'a>>, ConvertError> {
    match path.names().last() {
        None => Ok(Some(root)),
        Some(name) => Ok(holder(root, prefix, path)?.and_then(|members| members.get_mut(name))),
    }
}

/// Takes the value at a path out.
pub(super) fn take<'a>(
    root: &mut Json<'a>,
    prefix: &str,
    path: &Path,
) -> Result<Option<Json<'a>>, ConvertError> {
    match path.names().last() {
        None => Ok(Some(std::mem::replace(root, Json::NULL))),
        Some(name) => Ok(holder(root, prefix, path)?.and_then(|members| members.remove(name))),
    }
}

/// Puts a value at a path. Objects that are needed on the way are made; what stood there is told to `made`.
pub(super) fn put<'a>(
    root: &mut Json<'a>,
    prefix: &str,
    path: &Path,
    value: Json<'a>,
    made: &mut dyn FnMut(Path, Was),
) -> Result<(), ConvertError> {
    let Some((last, way)) = path.names().split_last() else {
        *root = value;
        return Ok(());
    };
    let mut here = root;
    let mut at = Path::default();
    for depth in 0..=way.len() {
        if depth > 0 {
            let was = match here.is_null() {
                true => Some(Was::Null),
                false => open(here, prefix, path, depth)?
                    .is_some_and(|members| members.is_empty())
                    .then_some(Was::Empty),
            };
            if let Some(was) = was {
                made(at.clone(), was);
            }
        }
        if here.is_null() {
            *here = Json::Object(Members::default());
        }
        let Some(members) = open(here, prefix, path, depth)? else {
            return Ok(());
        };
        let Some(name) = way.get(depth) else {
            members.set(last, value);
            return Ok(());
        };
        at = at.join(name);
        if members.get(name).is_none() {
            made(at.clone(), Was::Absent);
            members.set(name, Json::Object(Members::default()));
            // Told once: what is made now is empty, but it was absent.
            let Some(next) = members.get_mut(name) else {
                return Ok(());
            };
            return put_new(next, way, depth + 1, last, value, &mut at, made);
        }
        let Some(next) = members.get_mut(name) else {
            return Ok(());
        };
        here = next;
    }
    Ok(())
}

/// Puts a value into an object that was just made, with all objects on the rest of the way.
fn put_new<'a>(
    here: &mut Json<'a>,
    way: &[Box<str>],
    depth: usize,
    last: &str,
    value: Json<'a>,
    at: &mut Path,
    made: &mut dyn FnMut(Path, Was),
) -> Result<(), ConvertError> {
    let mut here = here;
    for name in way.iter().skip(depth) {
        *at = at.join(name);
        made(at.clone(), Was::Absent);
        let Ok(Some(members)) = here.open() else {
            return Ok(());
        };
        members.set(name, Json::Object(Members::default()));
        let Some(next) = members.get_mut(name) else {
            return Ok(());
        };
        here = next;
    }
    if let Ok(Some(members)) = here.open() {
        members.set(last, value);
    }
    Ok(())
}

/// Whether there is an object at a path.
pub(in crate::webhook) fn is_object(root: &mut Json<'_>, path: &Path) -> bool {
    matches!(get(root, "", path), Ok(Some(value)) if value.is_object())
}

/// Whether the top-level object that holds a field is there. What was kept of one that is gone stays away with it.
pub(super) fn has_top(root: &Json<'_>, path: &Path) -> bool {
    match path.names() {
        [top, _, ..] => match root {
            Json::Object(members) => members.get(top).is_some_and(Json::is_object),
            closed => closed.get(top).is_some_and(|top| top.is_object()),
        },
        _ => true,
    }
}

/// Whether there is an object without members at a path.
pub(super) fn is_empty(root: &mut Json<'_>, path: &Path) -> bool {
    let Ok(Some(value)) = get(root, "", path) else {
        return false;
    };
    matches!(value.open(), Ok(Some(members)) if members.is_empty())
}
