//! The items of a list or map: each converted where it stands, and told apart from the others.
//!
//! An item is found again by a digest of all of it or by its keys, as it is in the version that it was converted to:
//! that is what the annotation stands beside ([`KeptItems`]). So items may be moved, added and removed in the other
//! version, and each gets its own values back.
//!
//! ```text
//! v1            disks: [{name: a, raid: 5}, {name: b}]         v2 has no raid; disks are told apart by name
//! to v2         disks: [{name: a}, {name: b}]                  kept: raid = 5 of the item with the key `a`
//! edited        disks: [{name: c}, {name: b}, {name: a}]
//! back to v1    disks: [{name: c}, {name: b}, {name: a, raid: 5}]
//! ```

use std::collections::{HashMap, HashSet};

use super::error::ConvertError;
use super::kept::{KeptFields, KeptItem, KeptItems};
use super::tree;
use crate::definition::{Place, Side, Sides};
use crate::json::{Json, Members, normal};
use crate::webhook::rollout::digest;

/// Converts one item, which has a path for messages, with the entries that were kept of it. Leaves a hole where the
/// item cannot be said. Returns what it keeps.
pub(super) type Convert<'c, 'a> =
    dyn FnMut(&mut Json<'a>, &KeptFields<'a>, &str) -> Result<KeptFields<'a>, ConvertError> + 'c;

/// What is said of the items that are written.
#[derive(Clone, Copy)]
pub(super) struct WrittenItems<'t> {
    /// The side that is written.
    pub(super) to: Side,
    /// What tells the items of a side apart.
    pub(super) keys: &'t Sides<Vec<Place>>,
    /// Whether a value has the types of an item.
    pub(super) is_item: &'t dyn Fn(&Json<'_>) -> bool,
}

/// Converts the items of a list or map where they stand. Returns what they keep, if anything.
pub(super) fn convert_items<'a>(
    value: &mut Json<'a>,
    written: WrittenItems<'_>,
    kept: Option<&KeptItems<'a>>,
    prefix: &str,
    convert: &mut Convert<'_, 'a>,
) -> Result<Option<KeptItems<'a>>, ConvertError> {
    let nothing = KeptItems::default();
    let kept = kept.unwrap_or(&nothing);
    let to_keep = if let Some(elements) = value.open_array() {
        convert_list(elements, written, kept, prefix, convert)?
    } else if value.is_object() {
        let twice = |duplicate| ConvertError::named_twice(prefix, duplicate);
        match value.open().map_err(twice)? {
            Some(members) => convert_map(members, written.is_item, kept, prefix, convert)?,
            None => KeptItems::default(),
        }
    } else {
        KeptItems::default()
    };
    Ok((!to_keep.is_empty()).then_some(to_keep))
}

fn convert_list<'a>(
    elements: &mut Vec<Json<'a>>,
    WrittenItems { to, keys, is_item }: WrittenItems<'_>,
    kept: &KeptItems<'a>,
    prefix: &str,
    convert: &mut Convert<'_, 'a>,
) -> Result<KeptItems<'a>, ConvertError> {
    let mut known = vec![None; elements.len()];
    if !kept.items.is_empty() {
        let key = |item: &Json<'_>| key(item, keys.of(to.other()));
        let now: Vec<_> = elements.iter().map(|item| (key(item), content(item))).collect();
        known = kept.matched(&now);
    }
    let mut to_keep = KeptItems::default();
    let mut omitted = kept
        .omitted
        .iter()
        .filter(|(_, item)| is_item(item))
        .filter_map(|(index, item)| Some((index.scalar()?.parse::<usize>().ok()?, item)))
        .peekable();
    let mut converted: Vec<(Json<'a>, KeptFields<'a>)> = Vec::with_capacity(elements.len());
    for (index, (mut item, known)) in std::mem::take(elements).into_iter().zip(known).enumerate() {
        while let Some((_, item)) = omitted.next_if(|(index, _)| *index <= converted.len()) {
            converted.push((item.clone(), KeptFields::default()));
        }
        let before = item.clone();
        let fields = convert(&mut item, &entries(known), &format!("{prefix}[{index}]"))?;
        match item.is_hole() {
            true => to_keep.omitted.push((Json::owned(index.to_string()), before)),
            false => converted.push((item, fields)),
        }
    }
    converted.extend(omitted.map(|(_, item)| (item.clone(), KeptFields::default())));
    to_keep.count = converted.len();
    if converted.iter().any(|(_, fields)| !fields.is_empty()) {
        let known = |(item, _): &(Json<'a>, KeptFields<'a>)| (key(item, keys.of(to)), content(item));
        let known: Vec<(Option<String>, String)> = converted.iter().map(known).collect();
        let keeping = || converted.iter().zip(&known).filter(|((_, fields), _)| !fields.is_empty());
        let contents: HashSet<String> = keeping().map(|(_, (_, content))| content.clone()).collect();
        let keyed: HashSet<String> = keeping().filter_map(|(_, (key, _))| key.clone()).collect();
        for (index, ((_, fields), (key, content))) in converted.iter_mut().zip(known).enumerate() {
            // An item that keeps nothing is noted where another one looks like it or has its key, which would be taken
            // for it; and where it has no key, as it may be moved to where one stood that is gone.
            if contents.contains(&content) || key.as_ref().is_none_or(|key| keyed.contains(key)) {
                let entries = std::mem::take(fields).into_json();
                to_keep.items.push(KeptItem { index, key, content: Some(content), entries });
            }
        }
    }
    elements.extend(converted.into_iter().map(|(item, _)| item));
    Ok(to_keep)
}

fn convert_map<'a>(
    members: &mut Members<'a>,
    is_item: &dyn Fn(&Json<'_>) -> bool,
    kept: &KeptItems<'a>,
    prefix: &str,
    convert: &mut Convert<'_, 'a>,
) -> Result<KeptItems<'a>, ConvertError> {
    let known: HashMap<&str, &Json<'a>> =
        kept.items.iter().filter_map(|item| Some((item.key.as_deref()?, &item.entries))).collect();
    let mut to_keep = KeptItems::default();
    for (index, (name, item)) in members.iter_mut().enumerate() {
        let key = format!("[{}]", Json::string(name).to_text());
        let known = known.get(&*key).copied();
        let before = item.clone();
        let fields = convert(item, &entries(known), &format!("{prefix}[{name:?}]"))?;
        if item.is_hole() {
            to_keep.omitted.push((Json::string(name), before));
        } else if !fields.is_empty() {
            let entries = fields.into_json();
            to_keep.items.push(KeptItem { index, key: Some(key), content: None, entries });
        }
    }
    members.close_holes();
    let mut names: HashSet<String> = members.iter().map(|(name, _)| name.to_owned()).collect();
    for (name, item) in kept.omitted.iter().filter(|(_, item)| is_item(item)) {
        if let Some(name) = name.as_str().filter(|name| names.insert((**name).to_owned())) {
            members.add(name.into_owned(), item.clone());
        }
    }
    Ok(to_keep)
}

fn entries<'k>(known: Option<&Json<'k>>) -> KeptFields<'k> {
    known.and_then(|entries| KeptFields::read(entries.clone())).unwrap_or_default()
}

/// What tells an item apart by its keys, if the list has any. A key that is missing is what the API server fills in.
fn key(item: &Json<'_>, keys: &[Place]) -> Option<String> {
    if keys.is_empty() || !item.is_object() {
        return None;
    }
    let mut item = item.clone();
    let mut values: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        let value = tree::get(&mut item, "", &key.path).ok().flatten().map(|value| value.to_text());
        let value = value.or_else(|| Some(key.filled(None)?.to_text()));
        values.push(value.map_or_else(|| "null".to_owned(), |value| normal(&value)));
    }
    Some(format!("[{}]", values.join(",")))
}

/// A digest of all of an item. 48 bits: of a thousand items that differ two look alike once in 10⁹ lists.
fn content(item: &Json<'_>) -> String {
    let mut digest = digest(&[normal(&item.to_text()).as_bytes()]);
    digest.truncate(12);
    digest
}
