//! What becomes of an operation of `before` that one of `after` takes back, once the fact is true. A server does both
//! before anybody sees the object. Of a policy each operation is done for itself, and the API server fills in defaults
//! in between: what it fills in for the first would stay.

use serde_json::Value;

use super::cel_place::said;
use crate::definition::{MutationOperation, Path, are_against};

/// How an operation of `before` is done once the fact is true.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnceTrue<'o> {
    /// As before it.
    AsBefore,
    /// The other one takes its place: it says all that this one says.
    Replaced(&'o MutationOperation),
    /// As much of it as stays where the other one takes its field away: what the field is in.
    Emptied(&'o MutationOperation),
}

/// How an operation of `before` is done once the fact is true, where these are the operations of `after`.
///
/// # Errors
/// Why a policy cannot do it.
pub(super) fn once_true<'o>(
    before: &MutationOperation,
    after: &'o [MutationOperation],
    pod: &Path,
) -> Result<OnceTrue<'o>, String> {
    let mut done = OnceTrue::AsBefore;
    for other in after {
        let Some(why) = are_against(before, other, pod) else { continue };
        if before.is_of_words() || other.is_of_words() || is_of_whole_items(before, other) {
            continue;
        }
        done = instead(before, other, pod)
            .ok_or_else(|| format!("always and onceTrue: {why}, and the API server fills in defaults in between"))?;
    }
    Ok(done)
}

/// Whether a list gets an item that it must not have, or the other way round: nothing is left of the first.
fn is_of_whole_items(before: &MutationOperation, after: &MutationOperation) -> bool {
    use MutationOperation as Is;
    matches!((before, after), (Is::Item { .. }, Is::NoItem { .. }) | (Is::NoItem { .. }, Is::Item { .. }))
}

/// What is done instead of an operation that another one takes back, if that takes back all of it.
fn instead<'o>(before: &MutationOperation, after: &'o MutationOperation, pod: &Path) -> Option<OnceTrue<'o>> {
    use MutationOperation as Is;
    match (before, after) {
        (Is::Set { place, .. } | Is::Unset { place }, Is::Set { place: other, .. } | Is::Unset { place: other }) => {
            let (place, other) = (place.of_object(pod), other.of_object(pod));
            let is_inside = place.root == other.root && place.path.starts_with(&other.path);
            is_inside.then_some(match after {
                Is::Set { .. } => OnceTrue::Replaced(after),
                _ => OnceTrue::Emptied(after),
            })
        }
        (Is::Item { list, key, item }, Is::Item { list: other, key: by, item: wanted }) => {
            let is_one = list.of_object(pod) == other.of_object(pod) && key == by;
            (is_one && says_all(&said(item), &said(wanted))).then_some(OnceTrue::Replaced(after))
        }
        _ => None,
    }
}

/// Whether an item says something of whatever another one says.
fn says_all(one: &Value, other: &Value) -> bool {
    let members = one.as_object().into_iter().flatten();
    members.into_iter().all(|(name, value)| match (value, other.get(name)) {
        (_, None) => false,
        (Value::Object(_), Some(Value::Object(_))) => other.get(name).is_some_and(|other| says_all(value, other)),
        // What was no object, or was to go, is none that the other one's members would be put into.
        (_, Some(Value::Object(_))) => false,
        _ => true,
    })
}
