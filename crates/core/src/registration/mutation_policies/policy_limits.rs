//! Operations that CEL cannot express with the same result as a server.

use serde_json::Value;

use super::cel_place::json_value;
use crate::definition::{FieldPlace, MutationOperation};

/// Returns why a policy cannot express an operation, if so.
pub(super) fn unsayable(operation: &MutationOperation) -> Option<String> {
    use MutationOperation as Is;
    let large =
        |value: &Value| has_large_number(value).then_some("a policy cannot write an integer beyond 9007199254740991");
    let unnamed = |is_any: bool| is_any.then_some("a policy cannot name a field with such a character");
    let why = match operation {
        Is::Set { place, value } => large(&json_value(value)).or_else(|| unnamed(is_unnameable(place))),
        Is::Unset { place } => unnamed(is_unnameable(place)),
        Is::Item { list, item, .. } => {
            let item = json_value(item);
            large(&item).or_else(|| unnamed(is_unnameable(list) || has_unnameable(&item)))
        }
        Is::NoItem { list, value, .. } => large(&json_value(value)).or_else(|| unnamed(is_unnameable(list))),
        // Such a word could be both the value of a flag and another flag.
        Is::Flag { name, .. }
        | Is::NoFlag { name, .. }
        | Is::FlagEntries { name, .. }
        | Is::NoFlagEntries { name, .. } => {
            let is_number =
                name.strip_prefix('-').is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()));
            is_number.then_some("a flag that is a number could be the value of the previous flag")
        }
    };
    why.map(|why| format!("`{}`: {why}", operation.describe()))
}

fn is_unnameable(place: &FieldPlace) -> bool {
    place.path.names().iter().any(|name| name.contains(is_garbled))
}

/// Returns whether a member of an item has a name that a pointer cannot contain. Nested lists are written whole.
fn has_unnameable(item: &Value) -> bool {
    let mut members = item.as_object().into_iter().flatten();
    members.any(|(name, value)| name.contains(is_garbled) || has_unnameable(value))
}

/// Returns whether a character in a pointer is escaped as in Go, which JSON does not accept (`apiserver
/// pkg/admission/plugin/policy/mutating/patch/json_patch.go`, `strconv.Quote`). Above U+FFFF, that applies to
/// characters that Go does not print.
fn is_garbled(sign: char) -> bool {
    let is_control = sign.is_ascii_control() && !matches!(sign, '\u{8}' | '\u{c}' | '\n' | '\r' | '\t');
    is_control || sign > '\u{ffff}'
}

/// Returns whether a number is not exact as a double in JSON: such a number is written as a string (`cel-go
/// common/types/int.go`, `ConvertToNative`).
fn has_large_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.unsigned_abs() > LARGEST,
            (None, Some(_)) => true,
            (None, None) => number.as_f64().is_none_or(|number| number.abs() > LARGEST as f64),
        },
        Value::Array(all) => all.iter().any(has_large_number),
        Value::Object(members) => members.values().any(has_large_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The largest whole number up to which doubles are exact.
const LARGEST: u64 = (1 << 53) - 1;
