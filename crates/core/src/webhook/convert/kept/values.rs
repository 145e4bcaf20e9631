//! Writes and compares the values of an operation's places.

use smallvec::smallvec;

use crate::definition::{Fragment, Place};
use crate::json::{Json, normal_keeping_numbers};

/// Returns whether two fragments have equal values, absence included.
pub(crate) fn same(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>]) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            (Some(one), Some(two)) => one.same(two),
            _ => false,
        })
}

/// Returns whether values at these places are equal after the API server fills in defaults.
pub(crate) fn same_when_filled(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>], at: &[Place]) -> bool {
    let (filled_one, filled_two) = (filled(one, at), filled(two, at));
    (filled_one.is_some() || filled_two.is_some())
        && same(filled_one.as_deref().unwrap_or(one), filled_two.as_deref().unwrap_or(two))
}

/// The values at these places after the API server fills in defaults. `None` if no default applies.
pub(crate) fn filled<'a>(values: &[Option<Json<'a>>], at: &[Place]) -> Option<Fragment<'a>> {
    let one = |(value, place): (&Option<Json<'a>>, &Place)| place.filled(value.as_ref());
    let filled: Fragment<'a> = values.iter().zip(at).map(one).collect();
    let or_as_it_is = |(filled, value): (Option<Json<'a>>, &Option<Json<'a>>)| filled.or_else(|| value.clone());
    filled.iter().any(Option::is_some).then(|| filled.into_iter().zip(values).map(or_as_it_is).collect())
}

/// Returns whether two fragments have equal values in the same spelling, such as `1.0`.
pub(crate) fn identical(one: &[Option<Json<'_>>], two: &[Option<Json<'_>>]) -> bool {
    one.len() == two.len()
        && one.iter().zip(two).all(|pair| match pair {
            (None, None) => true,
            (Some(one), Some(two)) => is_identical(one, two),
            _ => false,
        })
}

/// Returns whether two values are equal in the same spelling.
pub(crate) fn is_identical(one: &Json<'_>, two: &Json<'_>) -> bool {
    match (one, two) {
        // Most values are unchanged texts. Only others need normalization.
        (Json::Text(one), Json::Text(two)) if one == two => true,
        _ => one.same(two) && normal_keeping_numbers(&one.text()) == normal_keeping_numbers(&two.text()),
    }
}

/// One value is written directly, several values as lists of zero or one element. Omitted if all are absent.
pub(super) fn write<'a>(values: &[Option<Json<'a>>]) -> Option<Json<'a>> {
    match values {
        [one] => one.clone(),
        several if several.iter().all(Option::is_none) => None,
        several => {
            Some(Json::Array(several.iter().map(|value| Json::Array(value.iter().cloned().collect())).collect()))
        }
    }
}

/// Parses the output of [`write()`] for this number of places. `None` for another format.
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

/// The value in a list of zero or one element. `None` for another format.
fn one_or_none<'a>(value: &mut Json<'a>) -> Option<Option<Json<'a>>> {
    let values = value.open_array()?;
    (values.len() < 2).then(|| values.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parsed and unparsed values are read alike.
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
