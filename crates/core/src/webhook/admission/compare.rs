//! What values are, where rules compare them.

use std::cmp::Ordering;

use crate::json::Json;

/// An object whose members are all null is empty, too: a null is nothing.
pub(super) fn is_empty(value: &Json<'_>) -> bool {
    match value.type_name() {
        "null" => true,
        "string" => value.as_str().is_some_and(|text| text.is_empty()),
        "array" => value.elements().is_empty(),
        "object" => value.members().iter().all(|(_, member)| member.is_null()),
        _ => false,
    }
}

/// The same UUID, whatever its spelling: as the CRD's rule has it, which takes the hyphens out.
pub(super) fn same_uuid(one: &Json<'_>, two: &Json<'_>) -> bool {
    let plain = |value: &Json<'_>| value.as_str().map(|text| text.to_ascii_lowercase().replace('-', ""));
    match (plain(one), plain(two)) {
        (Some(one), Some(two)) => one == two,
        _ => one.same(two),
    }
}

/// The same value, or two spellings of one UUID.
pub(super) fn same_value(one: &Json<'_>, two: &Json<'_>) -> bool {
    let uuid = |value: &Json<'_>| value.as_str().and_then(|text| uuid::Uuid::try_parse(&text).ok());
    one.same(two) || matches!((uuid(one), uuid(two)), (Some(one), Some(two)) if one == two)
}

/// How a JSON number compares with a bound. `None` for what is no number.
pub(super) fn compare(value: &Json<'_>, bound: i64) -> Option<Ordering> {
    let text = value.scalar().filter(|_| value.type_name() == "number")?;
    match text.parse::<i128>() {
        Ok(number) => Some(number.cmp(&i128::from(bound))),
        // The API server takes `9.0` and `1e1` for integers. Past 2^53 a fraction makes no difference to a bound.
        Err(_) => text.parse::<f64>().ok()?.partial_cmp(&(bound as f64)),
    }
}
