//! Comparison of values for rules.

use std::cmp::Ordering;

use crate::json::Json;

/// Returns whether a value is empty. An object whose members are all null is empty.
pub(super) fn is_empty(value: &Json<'_>) -> bool {
    match value.type_name() {
        "null" => true,
        "string" => value.as_str().is_some_and(|text| text.is_empty()),
        "array" => value.elements().is_empty(),
        "object" => value.members().iter().all(|(_, member)| member.is_null()),
        _ => false,
    }
}

/// Returns whether two UUIDs are equal in any spelling. Removes hyphens, like the rule of the CRD.
pub(super) fn same_uuid(one: &Json<'_>, two: &Json<'_>) -> bool {
    let plain = |value: &Json<'_>| value.as_str().map(|text| text.to_ascii_lowercase().replace('-', ""));
    one.same(two) || matches!((plain(one), plain(two)), (Some(one), Some(two)) if one == two)
}

/// Returns whether two values are equal, or two spellings of one UUID.
pub(super) fn same_value(one: &Json<'_>, two: &Json<'_>) -> bool {
    let uuid = |value: &Json<'_>| value.as_str().and_then(|text| uuid::Uuid::try_parse(&text).ok());
    one.same(two) || matches!((uuid(one), uuid(two)), (Some(one), Some(two)) if one == two)
}

/// Compares a JSON number with a bound. `None` for other values.
pub(super) fn compare(value: &Json<'_>, bound: i64) -> Option<Ordering> {
    let text = value.scalar().filter(|_| value.type_name() == "number")?;
    match text.parse::<i128>() {
        Ok(number) => Some(number.cmp(&i128::from(bound))),
        // The API server accepts `9.0` and `1e1` as integers. Above 2^53 a fraction does not affect the comparison.
        Err(_) => text.parse::<f64>().ok()?.partial_cmp(&(bound as f64)),
    }
}
