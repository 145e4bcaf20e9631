//! What an operation does to the values at its places, each direction, before anything kept is given back.
//!
//! These maps may lose: what makes an operation lossless is the comparison of the way there and back in
//! [`super::level`], which keeps whatever would not come back by itself.

use uuid::Uuid;

use crate::definition::{Lens, Operation, Place, Side};
use crate::json::Json;

/// A value at each place of one side; `None` is absence.
pub(super) type Fragment<'a> = Vec<Option<Json<'a>>>;

/// Maps the values of one side to the other side's places. `to` is the side that is written.
pub(super) fn map<'a>(operation: &Operation, to: Side, from: &Fragment<'a>) -> Fragment<'a> {
    let places = operation.places.of(to);
    let first = || from.first().cloned().flatten();
    match (&operation.lens, to) {
        // Lists and maps are converted element by element where they stand.
        (Lens::Each { .. } | Lens::Same, _) => vec![first()],
        (Lens::OneSided, _) => places.iter().map(|_| None).collect(),
        (Lens::Blank { spellings }, Side::Newer) => {
            vec![first().filter(|value| !is_blank(value, spellings))]
        }
        (Lens::Blank { .. }, Side::Older) => {
            let nullable = places.iter().all(|place| place.schema.nullable);
            let filled = places.iter().any(|place| place.fill.is_some());
            vec![first().filter(|value| nullable || !filled || !value.is_null())]
        }
        (Lens::Values { pairs }, to) => vec![first().map(|value| {
            let pair = pairs.iter().find(|pair| pair.of(to.other()).same(&value));
            pair.map_or(value, |pair| pair.of(to).clone())
        })],
        (Lens::Wrap, Side::Newer) => vec![first().and_then(|value| match value.is_null() {
            true => nullable(places).then_some(value),
            false => Some(Json::Array(vec![value])),
        })],
        (Lens::Wrap, Side::Older) => vec![first().and_then(|mut value| match value.open_array() {
            Some(elements) if elements.is_empty() => None,
            Some(elements) => Some(elements.swap_remove(0)),
            None => (!value.is_null() || nullable(places)).then_some(value),
        })],
        (Lens::Type, _) => {
            vec![first().and_then(|value| places.first().and_then(|place| retype(value, place)))]
        }
        (Lens::IntoMap { unset }, Side::Newer) => {
            let entry = from.get(1).cloned().flatten();
            let set = first()
                .filter(|value| !value.is_null() && !unset.iter().any(|unset| unset.same(value)));
            vec![entry.or(set)]
        }
        (Lens::IntoMap { .. }, Side::Older) => vec![None, first()],
        (Lens::Split { separator }, Side::Newer) => split(first(), separator, places),
        (Lens::Split { separator }, Side::Older) => vec![join(from, separator)],
    }
}

fn nullable(places: &[Place]) -> bool {
    places.iter().all(|place| place.schema.nullable)
}

/// Whether a value is one of the spellings of "no value". A UUID among them stands for all its spellings.
fn is_blank(value: &Json<'_>, spellings: &[String]) -> bool {
    let Some(text) = value.as_str() else {
        return value.is_null();
    };
    spellings.iter().any(|spelling| {
        *spelling == text
            || matches!((Uuid::try_parse(spelling), Uuid::try_parse(&text)), (Ok(blank), Ok(value)) if blank == value)
    })
}

/// The same scalar in the type of a place. `None` where the type cannot say it.
fn retype<'a>(value: Json<'a>, place: &Place) -> Option<Json<'a>> {
    if value.is_null() {
        return place.schema.nullable.then_some(value);
    }
    if place.schema.admits(&value) {
        return Some(value);
    }
    let converted = match (place.schema.kind.as_deref(), value.as_str()) {
        (Some("string"), None) => Json::string(value.scalar()?),
        (Some("integer" | "int-or-string"), Some(text)) => Json::owned(integer(&text)?),
        (Some("number"), Some(text)) => Json::owned(number(&text)?),
        (Some("boolean"), Some(text)) => {
            Json::owned(matches!(&*text, "true" | "false").then(|| text.into_owned())?)
        }
        _ => return None,
    };
    place.schema.admits(&converted).then_some(converted)
}

/// Decimal digits, perhaps with a sign, without leading zeros: of any length, since numbers are text here.
fn integer(text: &str) -> Option<String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    Some(format!("{sign}{}", if digits.is_empty() { "0" } else { digits }))
}

/// A number as JSON writes them.
fn number(text: &str) -> Option<String> {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then_some(())?;
    Json::parse(text)
        .ok()
        .filter(|value| value.type_name() == "number")
        .map(|value| value.to_text())
}

fn split<'a>(whole: Option<Json<'a>>, separator: &str, places: &[Place]) -> Fragment<'a> {
    let none = || places.iter().map(|_| None).collect::<Fragment<'a>>();
    let Some(whole) = whole else { return none() };
    let Some(text) = whole.as_str().map(|text| text.into_owned()) else {
        return none();
    };
    let mut parts: Vec<&str> = text.rsplitn(places.len(), separator).collect();
    parts.reverse();
    let typed = |(part, place): (&&str, &Place)| retype(Json::string(part), place).map(Some);
    let parts: Option<Fragment<'_>> = parts.iter().zip(places).map(typed).collect();
    // Where a part cannot be what its field must be, the string is not of this form: the first field shows it whole.
    let mut parts = parts.unwrap_or_else(|| vec![Some(whole.clone())]);
    parts.resize(places.len(), None);
    parts
}

fn join<'a>(parts: &Fragment<'a>, separator: &str) -> Option<Json<'a>> {
    let present: Vec<_> =
        parts.iter().map_while(|part| part.as_ref().filter(|part| !part.is_null())).collect();
    if present.is_empty() {
        return None;
    }
    let text: Option<Vec<String>> = present
        .into_iter()
        .map(|part| {
            part.as_str().map(|text| text.into_owned()).or_else(|| part.scalar().map(str::to_owned))
        })
        .collect();
    text.map(|text| Json::string(&text.join(separator)))
}
