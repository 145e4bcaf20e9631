//! What was found of other objects.

use serde_json::Value;

use crate::roll::answers::RollAnswers;
use crate::roll::questions::RollQuestion;

/// What was found of one object.
#[derive(Clone, Debug)]
pub(super) enum SeenOther<'a> {
    /// Nobody knows, and why.
    Unknown(String),
    Absent,
    /// It is being deleted.
    Going(&'a Value),
    There(&'a Value),
}

/// One object.
pub(super) fn look<'a>(answers: &'a RollAnswers, question: &RollQuestion) -> SeenOther<'a> {
    match answers.of(&question.about) {
        None => SeenOther::Unknown(format!("nobody has looked at {question}")),
        Some(Err(why)) => SeenOther::Unknown(format!("{question} cannot be read: {why}")),
        Some(Ok(found)) => match &found.whole {
            None => SeenOther::Absent,
            Some(object) if is_going(object) => SeenOther::Going(object),
            Some(object) => SeenOther::There(object),
        },
    }
}

/// All objects of a list.
///
/// # Errors
/// Nobody knows, and why.
pub(in crate::roll) fn list<'a>(answers: &'a RollAnswers, question: &RollQuestion) -> Result<&'a [Value], String> {
    match answers.of(&question.about) {
        None => Err(format!("nobody has looked at {question}")),
        Some(Err(why)) => Err(format!("{question} cannot be listed: {why}")),
        Some(Ok(found)) => Ok(&found.all),
    }
}

/// Whether it is being deleted.
pub(in crate::roll) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

pub(super) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// An annotation of an object.
pub(in crate::roll) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}
