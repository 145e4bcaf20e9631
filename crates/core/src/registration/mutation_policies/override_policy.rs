//! Operations of `always` that an operation of `onceTrue` overrides once the fact is true. A server applies both before
//! the object is visible. A policy applies each operation separately, and the API server fills in defaults in between:
//! the defaults for the first operation would stay.

use serde_json::Value;

use super::cel_place::json_value;
use crate::definition::{MutationOperation, Path, are_against};

/// The handling of an operation of `always` once the fact is true.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnceTrue<'o> {
    /// Applied unchanged.
    AsBefore,
    /// Replaced by the other operation, which sets the same fields.
    Replaced(&'o MutationOperation),
    /// Limited to the parents of its field, because the other operation removes the field.
    Emptied(&'o MutationOperation),
}

/// The handling of an operation of `always` once the fact is true, given the operations of `onceTrue`.
///
/// # Errors
/// Why a policy cannot express it.
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

/// Returns whether one operation adds an item and the other removes it, so that the effect of the first is lost.
fn is_of_whole_items(before: &MutationOperation, after: &MutationOperation) -> bool {
    use MutationOperation as Is;
    matches!((before, after), (Is::Item { .. }, Is::NoItem { .. }) | (Is::NoItem { .. }, Is::Item { .. }))
}

/// The replacement of an operation that another one overrides entirely.
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
            (is_one && covers_all(&json_value(item), &json_value(wanted))).then_some(OnceTrue::Replaced(after))
        }
        _ => None,
    }
}

/// Returns whether an item sets every member of another item.
fn covers_all(one: &Value, other: &Value) -> bool {
    let members = one.as_object().into_iter().flatten();
    members.into_iter().all(|(name, value)| match (value, other.get(name)) {
        (_, None) => false,
        (Value::Object(_), Some(Value::Object(_))) => other.get(name).is_some_and(|other| covers_all(value, other)),
        // Members of the other item are not merged into a value that is no object, or was to be removed.
        (_, Some(Value::Object(_))) => false,
        _ => true,
    })
}
