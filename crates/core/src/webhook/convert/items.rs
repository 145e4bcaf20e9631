//! The items of a list or map. Each item is converted separately, and identified by its content or keys.
//!
//! An item is identified by a digest of its content or by its keys, in the version to which it was converted, which
//! contains the annotation ([`KeptItems`]). So items may be moved, added and removed in the other version, and each
//! gets its own values back.
//!
//! ```text
//! v1            disks: [{name: a, raid: 5}, {name: b}]         v2 has no raid; disks are told apart by name
//! to v2         disks: [{name: a}, {name: b}]                  kept: raid = 5 of the item with the key `a`
//! edited        disks: [{name: c}, {name: b}, {name: a}]
//! back to v1    disks: [{name: c}, {name: b}, {name: a, raid: 5}]
//! ```
//!
//! Items are parsed one by one, and each result is written before the next item is parsed. A request may have a million
//! items, and a parsed item needs many times the memory of its text.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::vec::IntoIter;

use smallvec::SmallVec;

use super::error::ConvertError;
use super::kept::{ItemEntries, ItemIdentity, ItemNote, ItemsWriter, KeptFields, KeptItems, KeptText, OmittedItems};
use super::paths::{ErrorPath, ItemName};
use crate::definition::{Place, Side, Sides};
use crate::json::{Json, Members, normal};
use crate::webhook::capacity::make_room;
use crate::webhook::rollout_hash::digest;

/// The conversion of one item.
pub(super) trait ConvertItem<'l> {
    /// Converts an item with its kept entries. Leaves a hole if the other version cannot represent the item. Returns
    /// the values to keep.
    fn convert<'a>(
        &mut self,
        item: &mut Json<'a>,
        kept: &KeptFields<'a>,
        here: &ErrorPath<'_>,
    ) -> Result<KeptFields<'a>, ConvertError>
    where
        'l: 'a;

    /// Returns whether a kept item has the types of the version that is written, and cannot be represented by the
    /// version that is read.
    fn is_omitted<'a>(&mut self, item: &Json<'a>) -> bool
    where
        'l: 'a;
}

/// The list or map with the items.
#[derive(Clone, Copy)]
pub(super) struct ListOfItems<'t> {
    /// The side that is written.
    pub(super) to: Side,
    /// The key fields of the items of a side.
    pub(super) keys: &'t Sides<Vec<Place>>,
    /// The parent, and the path below it.
    pub(super) outer: &'t ErrorPath<'t>,
    pub(super) id: &'t str,
}

impl ListOfItems<'_> {
    fn item<'w>(&'w self, name: ItemName<'w>) -> ErrorPath<'w> {
        ErrorPath::Item { outer: self.outer, list: self.id, name }
    }
}

/// Converts the items of a list or map. Returns the values to keep, if any.
pub(super) fn convert_items<'l>(
    value: &mut Json<'l>,
    list: ListOfItems<'_>,
    kept: Option<&KeptItems<'l>>,
    convert: &mut dyn ConvertItem<'l>,
) -> Result<Option<KeptText>, ConvertError> {
    let nothing = KeptItems::default();
    let kept = kept.unwrap_or(&nothing);
    if value.is_array() {
        return convert_list(value, list, kept, convert);
    }
    if !value.is_object() {
        return Ok(None);
    }
    let size = value.size();
    let twice = |duplicate| ConvertError::named_twice(&list.outer.below(list.id), duplicate);
    let members = value.open().map_err(twice)?.map(std::mem::take).unwrap_or_default();
    let (map, to_keep) = convert_map((members, size), list, kept, convert)?;
    *value = Json::owned(map);
    Ok(to_keep)
}

/// The state of a list conversion.
struct ListUnderWay<'u, 'l> {
    list: ListOfItems<'u>,
    convert: &'u mut dyn ConvertItem<'l>,
    /// The kept entries, by position.
    known: Vec<Option<&'u Json<'l>>>,
    /// Items that the other version cannot represent, with the number of items before each.
    omitted: Peekable<IntoIter<(usize, &'u Json<'l>)>>,
    /// The number of items read.
    read: usize,
    written: WrittenItems,
    entries: ItemEntries,
    to_omit: OmittedItems,
}

fn convert_list<'l>(
    value: &mut Json<'l>,
    list: ListOfItems<'_>,
    kept: &KeptItems<'l>,
    convert: &mut dyn ConvertItem<'l>,
) -> Result<Option<KeptText>, ConvertError> {
    let known = match kept.items.is_empty() {
        true => Vec::new(),
        false => kept.matched(&identities(value, list.keys.of(list.to.other()))),
    };
    let omitted = kept.omitted.iter().filter(|(_, item)| convert.is_omitted(item));
    let omitted = omitted.filter_map(|(index, item)| Some((index.scalar()?.parse::<usize>().ok()?, item)));
    let mut under_way = ListUnderWay {
        list,
        known,
        omitted: omitted.collect::<Vec<_>>().into_iter().peekable(),
        convert,
        read: 0,
        written: WrittenItems::begin('[', value.size()),
        entries: ItemEntries::default(),
        to_omit: OmittedItems::default(),
    };
    match &mut *value {
        Json::Array(elements) => {
            for item in std::mem::take(elements) {
                under_way.convert(item)?;
            }
        }
        closed => {
            for (_, item) in Json::each_element(&closed.text(), 0) {
                under_way.convert(item)?;
            }
        }
    }
    let (written, count, entries, omitted) = under_way.end();
    *value = Json::owned(written);
    if entries.is_empty() && omitted.is_empty() {
        return Ok(None);
    }
    Ok(Some(kept_with_identities(value, list.keys.of(list.to), count, &entries, &omitted)))
}

impl<'l> ListUnderWay<'_, 'l> {
    fn convert<'a>(&mut self, mut item: Json<'a>) -> Result<(), ConvertError>
    where
        'l: 'a,
    {
        while let Some((_, item)) = self.omitted.next_if(|(index, _)| *index <= self.written.count) {
            self.written.add(item, 0);
        }
        let (index, sent, before) = (self.read, item.size(), item.clone());
        self.read += 1;
        let known = entries(self.known.get(index).copied().flatten());
        let fields = self.convert.convert(&mut item, &known, &self.list.item(ItemName::Index(index)))?;
        match item.is_hole() {
            true => self.to_omit.add(&Json::owned(index.to_string()), &before),
            false => {
                self.entries.add(self.written.count, &fields);
                self.written.add(&item, sent);
            }
        }
        Ok(())
    }

    /// Returns the text of the list, its number of items, the values to keep, and the omitted items.
    fn end(mut self) -> (String, usize, ItemEntries, OmittedItems) {
        for (_, item) in self.omitted {
            self.written.add(item, 0);
        }
        let count = self.written.count;
        (self.written.end(']'), count, self.entries, self.to_omit)
    }
}

/// The values to keep of the items of a list, with their identities.
fn kept_with_identities(
    list: &Json<'_>,
    keys: &[Place],
    count: usize,
    entries: &ItemEntries,
    omitted: &OmittedItems,
) -> KeptText {
    if entries.is_empty() {
        return ItemsWriter::begin(count, 0).end(omitted);
    }
    let all = identities(list, keys);
    let keeping = || entries.positions().filter_map(|index| all.get(index));
    let contents: HashSet<u64> = keeping().map(|item| item.content).collect();
    let keyed: HashSet<&str> = keeping().filter_map(|item| item.key.as_deref()).collect();
    let mut writer = ItemsWriter::begin(count, entries.size() + contents.len() * NOTE);
    let mut collected = entries.collected();
    for (index, ItemIdentity { key, content }) in all.iter().enumerate() {
        // An item without kept values is recorded if another item has the same content or key and could be mistaken for
        // it. Also if it has no key, because it may be moved to the place of a deleted item.
        if contents.contains(content) || key.as_ref().is_none_or(|key| keyed.contains(&**key)) {
            let content = format!("{content:012x}");
            let note = ItemNote { index, key: key.as_deref(), content: Some(&content) };
            writer.add_collected(note, &mut collected);
        }
    }
    writer.end(omitted)
}

/// Converts the values of a map with this text size in bytes.
fn convert_map<'l>(
    (members, size): (Members<'l>, usize),
    map: ListOfItems<'_>,
    kept: &KeptItems<'l>,
    convert: &mut dyn ConvertItem<'l>,
) -> Result<(String, Option<KeptText>), ConvertError> {
    let known: HashMap<&str, &Json<'l>> =
        kept.items.iter().filter_map(|item| Some((item.key.as_deref()?, &item.entries))).collect();
    let mut names: HashSet<String> = match kept.omitted.is_empty() {
        true => HashSet::new(),
        false => members.iter().map(|(name, _)| name.to_owned()).collect(),
    };
    let (mut written, mut to_omit) = (WrittenItems::begin('{', size), OmittedItems::default());
    let mut to_keep = None;
    for (index, (name, mut item)) in members.into_pairs().enumerate() {
        let key = || format!("[{}]", Json::string(&name).to_text());
        let known = if known.is_empty() { None } else { known.get(&*key()).copied() };
        let (sent, before) = (name.len() + item.size(), item.clone());
        let fields = convert.convert(&mut item, &entries(known), &map.item(ItemName::Key(&name)))?;
        if item.is_hole() {
            to_omit.add(&Json::string(&name), &before);
            names.remove(&*name);
            continue;
        }
        if !fields.is_empty() {
            let note = ItemNote { index, key: Some(&key()), content: None };
            to_keep.get_or_insert_with(|| ItemsWriter::begin(0, 0)).add(note, &fields);
        }
        written.add_member(&name, &item, sent);
    }
    for (name, item) in kept.omitted.iter().filter(|(_, item)| convert.is_omitted(item)) {
        if let Some(name) = name.as_str().filter(|name| names.insert((**name).to_owned())) {
            written.add_member(&name, item, 0);
        }
    }
    let to_keep = match to_keep {
        None if to_omit.is_empty() => None,
        writer => Some(writer.unwrap_or_else(|| ItemsWriter::begin(0, 0)).end(&to_omit)),
    };
    Ok((written.end('}'), to_keep))
}

/// The text of a list or map that is written item by item.
struct WrittenItems {
    text: String,
    count: usize,
    /// The size of the input in bytes, and of the processed part.
    sent: usize,
    processed: usize,
}

impl WrittenItems {
    fn begin(open: char, sent: usize) -> Self {
        let mut text = String::with_capacity(sent);
        text.push(open);
        Self { text, count: 0, sent, processed: 0 }
    }

    /// `sent` is the size of the item in the request.
    fn add(&mut self, item: &Json<'_>, sent: usize) {
        self.begin_item(item.size(), sent);
        item.append(&mut self.text);
    }

    fn add_member(&mut self, name: &str, item: &Json<'_>, sent: usize) {
        let mut name_text = 1;
        Json::each_piece_of_string(name, &mut |piece| name_text += piece.len());
        self.begin_item(name_text + item.size(), sent);
        Json::write_string(name, &mut self.text);
        self.text.push(':');
        item.append(&mut self.text);
    }

    /// Reserves capacity for an item of this size, its separator, and the end of the list.
    fn begin_item(&mut self, size: usize, sent: usize) {
        self.processed += sent + 1;
        let length = self.text.len() + size + 2;
        make_room(&mut self.text, length, [self.processed, self.sent]);
        if self.count > 0 {
            self.text.push(',');
        }
        self.count += 1;
    }

    fn end(mut self, close: char) -> String {
        self.text.push(close);
        self.text
    }
}

fn entries<'k>(known: Option<&Json<'k>>) -> KeptFields<'k> {
    known.and_then(|entries| KeptFields::read(entries.clone())).unwrap_or_default()
}

/// The identity of each item of a list.
fn identities(list: &Json<'_>, keys: &[Place]) -> Vec<ItemIdentity> {
    let identity = |item: &Json<'_>| ItemIdentity { key: key(item, keys), content: content(item) };
    match list {
        Json::Array(elements) => elements.iter().map(identity).collect(),
        closed => Json::each_element(&closed.text(), 0).map(|(_, item)| identity(&item)).collect(),
    }
}

/// The key of an item, if the list has keys. Uses the default of an absent key field.
fn key(item: &Json<'_>, keys: &[Place]) -> Option<Box<str>> {
    if keys.is_empty() || !item.is_object() {
        return None;
    }
    let mut values: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        let way: SmallVec<[&str; 4]> = key.path.names().iter().map(|name| &**name).collect();
        let value = item.get_path(&way).map(|value| normal(&value.text()));
        let value = value.or_else(|| Some(normal(&key.filled(None)?.text())));
        values.push(value.unwrap_or_else(|| "null".to_owned()));
    }
    Some(format!("[{}]", values.join(",")).into())
}

/// A digest of an item's content. With 48 bits, two of a thousand different items collide in one of 10⁹ lists.
fn content(item: &Json<'_>) -> u64 {
    let digest = digest(&[normal(&item.text()).as_bytes()]);
    digest.get(..12).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

/// The size of an item's position, its digest, and separators, in bytes.
const NOTE: usize = 32;
