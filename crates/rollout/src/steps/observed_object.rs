//! Observed state of other objects.

use serde_json::Value;

use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;

/// The observed state of one object.
#[derive(Clone, Debug)]
pub(super) enum ObservedObject<'a> {
    /// Unknown, with the reason.
    Unknown(String),
    Absent,
    /// The object is terminating.
    Terminating(&'a Value),
    There(&'a Value),
}

/// The state of one object.
pub(super) fn observed<'a>(answers: &'a LookupResults, lookup: &LookupRequest) -> ObservedObject<'a> {
    match answers.of(&lookup.about) {
        None => ObservedObject::Unknown(format!("{lookup} was not read yet")),
        Some(Err(why)) => ObservedObject::Unknown(format!("{lookup} cannot be read: {why}")),
        Some(Ok(found)) => match &found.whole {
            None => ObservedObject::Absent,
            Some(object) if is_terminating(object) => ObservedObject::Terminating(object),
            Some(object) => ObservedObject::There(object),
        },
    }
}

/// All objects of a list.
///
/// # Errors
/// Unknown, with the reason.
pub(crate) fn list<'a>(answers: &'a LookupResults, lookup: &LookupRequest) -> Result<&'a [Value], String> {
    match answers.of(&lookup.about) {
        None => Err(format!("{lookup} was not read yet")),
        Some(Err(why)) => Err(format!("{lookup} cannot be listed: {why}")),
        Some(Ok(found)) => Ok(&found.all),
    }
}

/// True if the object is terminating.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

/// The message about a terminating object, with its finalizers.
pub(super) fn terminating_message(called: &LookupRequest, object: &Value) -> String {
    let all = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let all: Vec<&str> = all.into_iter().flatten().filter_map(Value::as_str).collect();
    match all.as_slice() {
        [] => format!("{called} is being deleted"),
        all => format!("{called} is being deleted, and {}", held_by_finalizers(&all.join(", "))),
    }
}

/// The message about finalizers that delay a deletion.
pub(crate) fn held_by_finalizers(names: &str) -> String {
    format!("{names} of metadata.finalizers block the deletion: their controllers must act")
}

pub(super) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// An annotation of an object.
pub(crate) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}
