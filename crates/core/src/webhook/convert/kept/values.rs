//! The values of a field's places, written and compared.

use crate::definition::{Fragment, Place};
use crate::json::{Json, normal_keeping_numbers};

/// Whether two fragments are the same values, absence included.
pub(crate) fn same(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>]) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            (Some(one), Some(two)) => one.same(two),
            _ => false,
        })
}

/// Whether values at these places are what others became when the API server had filled them in.
pub(super) fn is_filled_in(before: &[Option<Json<'_>>], now: &[Option<Json<'_>>], at: &[Place]) -> bool {
    let is_one = |(before, now): (&Option<Json<'_>>, &Option<Json<'_>>), place: &Place| match (before, now) {
        (None, None) => true,
        (Some(before), Some(now)) if before.same(now) => true,
        (before, Some(now)) => place.filled(before.as_ref()).is_some_and(|filled| filled.same(now)),
        (Some(_), None) => false,
    };
    at.len() == now.len() && before.iter().zip(now).zip(at).all(|(values, place)| is_one(values, place))
}

/// Values at these places as they are when the API server has filled them in.
pub(super) fn filled<'a>(values: &[Option<Json<'a>>], at: &[Place]) -> Fragment<'a> {
    let one = |(value, place): (&Option<Json<'a>>, &Place)| place.filled(value.as_ref()).or_else(|| value.clone());
    values.iter().zip(at).map(one).collect()
}

/// Whether two fragments are the same values in the same spelling: what was written as `1.0` comes back as that.
pub(crate) fn identical(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>]) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            // Most values come back as the text they were; only others are worth another spelling.
            (Some(Json::Text(one)), Some(Json::Text(two))) if one == two => true,
            (Some(one), Some(two)) => {
                one.same(two) && normal_keeping_numbers(&one.text()) == normal_keeping_numbers(&two.text())
            }
            _ => false,
        })
}

/// The same of one value.
pub(crate) fn is_identical(one: &Option<Json<'_>>, two: &Option<Json<'_>>) -> bool {
    identical(std::slice::from_ref(one), std::slice::from_ref(two))
}

/// One value as it is; several as lists of none or one. Nothing at all is left out.
pub(super) fn write<'a>(values: &[Option<Json<'a>>]) -> Option<Json<'a>> {
    match values {
        [one] => one.clone(),
        several if several.iter().all(Option::is_none) => None,
        several => {
            Some(Json::Array(several.iter().map(|value| Json::Array(value.iter().cloned().collect())).collect()))
        }
    }
}

/// Reads what [`write()`] wrote for so many places. `None` if it is something else.
pub(super) fn read<'a>(written: Option<&Json<'_>>, places: usize) -> Option<Fragment<'a>> {
    match (written, places) {
        (None, places) => Some(vec![None; places]),
        (Some(_), 0) => None,
        (Some(value), 1) => Some(vec![Some(value.view().into_owned())]),
        (Some(Json::Array(values)), places) => {
            let values = values.iter().map(|value| match value {
                Json::Array(value) => (value.len() < 2).then(|| value.first().cloned().map(Json::into_owned)),
                closed => one_or_none(&mut closed.view()),
            });
            values.collect::<Option<Vec<_>>>().filter(|values| values.len() == places)
        }
        (Some(value), places) => {
            let mut value = value.view();
            let elements = value.open_array()?;
            let values = elements.iter_mut().map(one_or_none);
            values.collect::<Option<Vec<_>>>().filter(|values| values.len() == places)
        }
    }
}

/// What is in a list of none or one. `None` if it is something else.
fn one_or_none<'a>(value: &mut Json<'_>) -> Option<Option<Json<'a>>> {
    let values = value.open_array()?;
    (values.len() < 2).then(|| values.pop().map(Json::into_owned))
}
