//! The values of a field's places, written and compared.

use smallvec::smallvec;

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

/// Whether values at these places are the same to the API server once it has filled in what is missing.
pub(crate) fn same_when_filled(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>], at: &[Place]) -> bool {
    let (filled_one, filled_two) = (filled(one, at), filled(two, at));
    (filled_one.is_some() || filled_two.is_some())
        && same(filled_one.as_deref().unwrap_or(one), filled_two.as_deref().unwrap_or(two))
}

/// Values at these places as they are when the API server has filled them in. `None` where it has nothing to fill in.
pub(crate) fn filled<'a>(values: &[Option<Json<'a>>], at: &[Place]) -> Option<Fragment<'a>> {
    let one = |(value, place): (&Option<Json<'a>>, &Place)| place.filled(value.as_ref());
    let filled: Fragment<'a> = values.iter().zip(at).map(one).collect();
    let or_as_it_is = |(filled, value): (Option<Json<'a>>, &Option<Json<'a>>)| filled.or_else(|| value.clone());
    filled.iter().any(Option::is_some).then(|| filled.into_iter().zip(values).map(or_as_it_is).collect())
}

/// Whether two fragments are the same values in the same spelling: what was written as `1.0` comes back as that.
pub(crate) fn identical(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>]) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            (Some(one), Some(two)) => is_identical(one, two),
            _ => false,
        })
}

/// The same of one value.
pub(crate) fn is_identical(one: &Json<'_>, two: &Json<'_>) -> bool {
    match (one, two) {
        // Most values come back as the text they were; only others are worth another spelling.
        (Json::Text(one), Json::Text(two)) if one == two => true,
        _ => one.same(two) && normal_keeping_numbers(&one.text()) == normal_keeping_numbers(&two.text()),
    }
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
pub(super) fn read<'a>(written: Option<&Json<'a>>, places: usize) -> Option<Fragment<'a>> {
    match (written, places) {
        (None, places) => Some(smallvec![None; places]),
        (Some(_), 0) => None,
        (Some(value), 1) => Some(smallvec![Some(value.clone())]),
        (Some(Json::Array(values)), places) => {
            let values = values.iter().map(|value| match value {
                Json::Array(value) => (value.len() < 2).then(|| value.first().cloned()),
                closed => one_or_none(&mut closed.clone()),
            });
            values.collect::<Option<Fragment<'_>>>().filter(|values| values.len() == places)
        }
        (Some(value), places) => {
            let mut value = value.clone();
            let elements = value.open_array()?;
            let values = elements.iter_mut().map(one_or_none);
            values.collect::<Option<Fragment<'_>>>().filter(|values| values.len() == places)
        }
    }
}

/// What is in a list of none or one. `None` if it is something else.
fn one_or_none<'a>(value: &mut Json<'a>) -> Option<Option<Json<'a>>> {
    let values = value.open_array()?;
    (values.len() < 2).then(|| values.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was opened on the way and what was not are read alike.
    #[test]
    fn one_place_has_one_value() {
        let closed = Json::borrowed("[[1],[],[2]]");
        let list = |values: &[&'static str]| Json::Array(values.iter().map(|value| Json::borrowed(value)).collect());
        let opened = Json::Array([list(&["1"]), list(&[]), list(&["2"])].into_iter().collect());
        for written in [&closed, &opened] {
            let values = read(Some(written), 3).unwrap();
            let texts: Vec<_> = values.iter().map(|value| value.as_ref().map(Json::text)).collect();
            assert_eq!(texts, [Some("1".into()), None, Some("2".into())]);
            assert!(read(Some(written), 2).is_none(), "one value too many");
        }
        let closed = Json::borrowed("[[1,2],[]]");
        let opened = Json::Array([list(&["1", "2"]), list(&[])].into_iter().collect());
        for written in [&closed, &opened] {
            assert!(read(Some(written), 2).is_none(), "two values of one place are none of ours");
        }
    }
}
