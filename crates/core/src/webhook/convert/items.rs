//! The items of a list or map: each converted where it stands, and told apart from the others.
//!
//! An item is found again by its keys, or by a digest of all of it, as it is in the version that it was converted to: that
//! is what the annotation stands beside. So items may be moved, added and removed in the other version, and each gets its
//! own values back.
//!
//! ```text
//! v1            disks: [{name: a, raid: 5}, {name: b}]         v2 has no raid; disks are told apart by name
//! to v2         disks: [{name: a}, {name: b}]                  each: [["a", {"raid": {"value": 5}}]]
//! edited        disks: [{name: c}, {name: b}, {name: a}]
//! back to v1    disks: [{name: c}, {name: b}, {name: a, raid: 5}]
//! ```

use super::kept::{Kept, KeptItems, each};
use super::{error::ConvertError, tree};
use crate::definition::{Path, Side, Sides};
use crate::json::{Json, normal};
use crate::webhook::rollout::digest;

/// Converts the items of a list or map where they stand, each by `convert`, which gets what was kept of it and its path.
/// Returns what they keep.
pub(super) fn convert_items<'a>(
    value: &mut Json<'a>,
    keys: &Sides<Vec<Path>>,
    to: Side,
    mut kept: KeptItems<'_>,
    prefix: &str,
    convert: &mut dyn FnMut(&mut Json<'a>, &Kept<'_>, &str) -> Result<Kept<'a>, ConvertError>,
) -> Result<Option<Json<'a>>, ConvertError> {
    let nothing = Kept::default();
    if let Some(elements) = value.open_array() {
        let mut to_keep = Vec::new();
        for (index, element) in elements.iter_mut().enumerate() {
            let entries = match kept.is_empty() {
                true => None,
                false => kept.take(&identity(element, keys.of(to.other()))),
            };
            let prefix = format!("{prefix}[{index}]");
            to_keep.push(convert(element, entries.as_ref().unwrap_or(&nothing), &prefix)?);
        }
        if to_keep.iter().all(Kept::is_empty) {
            return Ok(None);
        }
        let items = elements
            .iter()
            .zip(to_keep)
            .map(|(element, entries)| (identity(element, keys.of(to)), entries));
        return Ok(each(items.collect()));
    }
    let members = value.open().map_err(|duplicate| ConvertError::named_twice(prefix, duplicate))?;
    let mut to_keep = Vec::new();
    for (key, element) in members.into_iter().flat_map(|members| members.iter_mut()) {
        let name = Json::string(key);
        let entries = kept.take(&name);
        let prefix = format!("{prefix}[{key:?}]");
        to_keep.push((name, convert(element, entries.as_ref().unwrap_or(&nothing), &prefix)?));
    }
    Ok(each(to_keep))
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
    match <[Json<'a>; 1]>::try_from(values) {
        Ok([one]) => one,
        Err(several) => Json::Array(several),
    }
}
