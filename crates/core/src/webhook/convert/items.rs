//! The items of a list or map: each converted where it stands, and told apart from the others.

use super::ConvertError;
use super::kept::{Items, Kept, write_items};
use super::level::{Trip, convert};
use super::tree;
use crate::definition::{Level, Path, Sides};
use crate::json::{Json, normal};
use crate::webhook::rollout::digest;

/// Converts the items of a list or map where they stand. Returns what they keep.
pub(super) fn convert_items<'a>(
    value: &mut Json<'a>,
    level: &Level,
    keys: &Sides<Vec<Path>>,
    trip: &mut Trip<'_>,
    each: Option<Json<'_>>,
    prefix: &str,
) -> Result<Option<Json<'a>>, ConvertError> {
    let (to, from) = (trip.to, trip.to.other());
    let mut kept = Items::read(each);
    let mut own = Vec::new();
    let nothing = Kept::default();
    if let Some(elements) = value.open_array() {
        for (index, element) in elements.iter_mut().enumerate() {
            let entries = match kept.is_empty() {
                true => None,
                false => kept.take(&identity(element, keys.of(from))),
            };
            let prefix = format!("{prefix}[{index}]");
            own.push(convert(element, level, trip, entries.as_ref().unwrap_or(&nothing), &prefix)?);
        }
        if own.iter().all(Kept::is_empty) {
            return Ok(None);
        }
        let items = elements
            .iter()
            .zip(own)
            .map(|(element, entries)| (identity(element, keys.of(to)), entries));
        return Ok(write_items(items.collect()));
    }
    let mut own = Vec::new();
    if value.is_object() {
        let duplicate = |duplicate: crate::json::Duplicate| ConvertError {
            path: prefix.to_owned(),
            reason: format!("names {:?} twice", duplicate.0),
        };
        for (key, element) in
            value.open().map_err(duplicate)?.into_iter().flat_map(|members| members.iter_mut())
        {
            let name = Json::string(key);
            let entries = kept.take(&name);
            let prefix = format!("{prefix}[{key:?}]");
            own.push((
                name,
                convert(element, level, trip, entries.as_ref().unwrap_or(&nothing), &prefix)?,
            ));
        }
    }
    Ok(write_items(own))
}

/// What tells an item apart: its keys; without keys, a digest of all of it.
fn identity<'a>(item: &Json<'_>, keys: &[Path]) -> Json<'a> {
    if keys.is_empty() || !item.is_object() {
        let digest = digest(&[normal(&item.to_text()).as_bytes()]);
        return Json::string(digest.get(..16).unwrap_or(&digest));
    }
    let mut copy = item.clone();
    let mut values: Vec<Json<'a>> = Vec::new();
    for key in keys {
        let value =
            tree::get(&mut copy, "", key).ok().flatten().map(|value| value.clone().into_owned());
        values.push(value.unwrap_or(Json::NULL));
    }
    match (values.len(), values.pop()) {
        (1, Some(one)) => one,
        (_, Some(last)) => {
            values.push(last);
            Json::Array(values)
        }
        (_, None) => Json::NULL,
    }
}
