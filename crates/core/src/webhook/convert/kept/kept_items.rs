//! What the items of a list or map keep, and which of them is which.
//!
//! Written as `{"count": N, "items": [ITEM, …], "omitted": [[PLACE, ITEM], …]}`. An item that keeps something is a list
//! of its position (a number; left out where it is the next one), its keys (a list; left out where it has none), a
//! digest of its content here (a string; left out in a map), and its entries (an object). Of an item that this version
//! cannot say there is its position in the other version's list, or its key in the map, and all of it.
//!
//! Somebody sorts the list, puts an item in front and edits another one. Which entries are whose?
//!
//! ```text
//! kept for      a (web, 1f3c)   b (dns, 77a0)   c (-, 52be)
//! found now     x (new, 0d11)   b (dns, 77a0)   a (web, 9e00)   c (-, 52be)
//! by content                    b                               c
//! by key                                        a: edited, but `web` stands once on both sides
//! ```
//!
//! By position only where nothing was put in, taken out or moved: then an item that has changed is the one that stood
//! there, if it has the key of that or both have none. So of items that share a key each can be edited.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::object_writer::{Add, ObjectWriter, list};
use crate::json::{Json, normal};

/// What the items of a list or map keep.
#[derive(Debug, Default)]
pub(crate) struct KeptItems<'a> {
    /// How many items there were here.
    pub(crate) count: usize,
    pub(crate) items: Vec<KeptItem<'a>>,
    /// What this version cannot say: where it stands in the other one, and what it is there.
    pub(crate) omitted: Vec<(Json<'a>, Json<'a>)>,
}

/// What one item keeps.
#[derive(Debug)]
pub(crate) struct KeptItem<'a> {
    pub(crate) index: usize,
    pub(crate) key: Option<String>,
    pub(crate) content: Option<String>,
    /// Read when they are wanted: whoever writes annotations could nest them deeper than any definition does.
    pub(crate) entries: Json<'a>,
}

impl<'a> KeptItems<'a> {
    /// Reads an `each`. `None` if it is none of ours.
    pub(super) fn read(mut json: Json<'a>) -> Option<Self> {
        let mut members = std::mem::take(json.open().ok()??);
        let count = members.remove("count")?.scalar()?.parse().ok()?;
        let mut items = Vec::new();
        let mut next = 0;
        for item in std::mem::take(members.remove("items")?.open_array()?) {
            let item = KeptItem::read(item, next)?;
            next = item.index.checked_add(1)?;
            items.push(item);
        }
        let mut omitted = Vec::new();
        if let Some(mut list) = members.remove("omitted") {
            for mut pair in std::mem::take(list.open_array()?) {
                let mut parts = std::mem::take(pair.open_array()?).into_iter();
                omitted.push((parts.next()?, parts.next()?));
            }
        }
        members.is_empty().then_some(Self { count, items, omitted })
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        let mut writer = ObjectWriter::begin(add);
        writer.member("count")(&self.count.to_string());
        let mut next = 0;
        list(writer.member("items"), &self.items, |item, add| {
            item.write(next, add);
            next = item.index + 1;
        });
        if !self.omitted.is_empty() {
            list(writer.member("omitted"), &self.omitted, |(place, item), add| {
                list(add, [place, item], |value, add| value.each_piece(add));
            });
        }
        writer.end();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.omitted.is_empty()
    }

    /// The entries of each of today's items, which are known by key and content.
    pub(crate) fn matched(&self, now: &[(Option<String>, String)]) -> Vec<Option<&Json<'a>>> {
        let mut found: Vec<Option<&Json<'a>>> = vec![None; now.len()];
        let mut open: Vec<&KeptItem<'a>> = Vec::new();
        // Of several that are alike, the one that stands where it stood.
        for item in &self.items {
            let here = now.get(item.index).map(|(_, content)| content);
            match found.get_mut(item.index) {
                Some(place) if here == item.content.as_ref() => *place = Some(&item.entries),
                _ => open.push(item),
            }
        }
        let in_place = self.count == now.len();
        let moved = open.len();
        by_content(&mut open, now, &mut found);
        let in_place = in_place && moved == open.len();
        by_key(&mut open, now, &mut found);
        if in_place {
            for item in open {
                let same_key = now.get(item.index).is_some_and(|(key, _)| *key == item.key);
                if let Some(place) = found.get_mut(item.index).filter(|_| same_key) {
                    place.get_or_insert(&item.entries);
                }
            }
        }
        found
    }
}

/// Finds items that are the same as they were, the first of those that are alike first.
fn by_content<'i, 'a>(
    open: &mut Vec<&'i KeptItem<'a>>,
    now: &[(Option<String>, String)],
    found: &mut [Option<&'i Json<'a>>],
) {
    let mut free: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, ((_, content), place)) in now.iter().zip(found.iter()).enumerate() {
        if place.is_none() {
            free.entry(content).or_default().push_back(index);
        }
    }
    open.retain(|item| {
        let indices = item.content.as_deref().and_then(|content| free.get_mut(content));
        let index = indices.and_then(VecDeque::pop_front);
        match index.and_then(|index| found.get_mut(index)) {
            Some(place) => *place = Some(&item.entries),
            None => return true,
        }
        false
    });
}

/// Finds items whose key stands once on both sides.
fn by_key<'i, 'a>(
    open: &mut Vec<&'i KeptItem<'a>>,
    now: &[(Option<String>, String)],
    found: &mut [Option<&'i Json<'a>>],
) {
    let mut kept: HashMap<&str, usize> = HashMap::new();
    for key in open.iter().filter_map(|item| item.key.as_deref()) {
        *kept.entry(key).or_default() += 1;
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, (key, _)) in now.iter().enumerate() {
        if let Some(key) = key {
            places.entry(key).or_default().push(index);
        }
    }
    open.retain(|item| {
        let Some(key) = item.key.as_deref().filter(|key| kept.get(key) == Some(&1)) else {
            return true;
        };
        match places.get(key).map(Vec::as_slice) {
            Some([index]) => {
                if let Some(place) = found.get_mut(*index) {
                    place.get_or_insert(&item.entries);
                }
                false
            }
            _ => true,
        }
    });
}

impl<'a> KeptItem<'a> {
    fn read(mut json: Json<'a>, next: usize) -> Option<Self> {
        let mut item = Self { index: next, key: None, content: None, entries: Json::NULL };
        for part in std::mem::take(json.open_array()?) {
            match part.type_name() {
                "number" => item.index = part.scalar()?.parse().ok()?,
                "array" => item.key = Some(normal(&part.to_text())),
                "string" => item.content = part.as_str().map(Cow::into_owned),
                _ => item.entries = part,
            }
        }
        Some(item)
    }

    fn write(&self, next: usize, add: &mut Add<'_>) {
        let index = (self.index != next).then(|| Json::owned(self.index.to_string()));
        let key = self.key.as_deref().map(Json::borrowed);
        let content = self.content.as_deref().map(Json::string);
        let parts = [index.as_ref(), key.as_ref(), content.as_ref(), Some(&self.entries)];
        list(add, parts.into_iter().flatten(), |part, add| part.each_piece(add));
    }
}
