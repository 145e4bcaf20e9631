//! The kept values of list or map items, and their assignment to the current items.
//!
//! Written as `{"count": N, "items": [ITEM, …], "omitted": [[PLACE, ITEM], …]}`. An item with kept values is a list of
//! its position (a number; omitted if it is the next position), its keys (a list; omitted if it has none), a digest of
//! its content here (a string; omitted in a map), and its entries (an object). An item that this version cannot
//! represent has its position in the other version's list, or its key in the map, and its whole content.
//!
//! A client may sort the list, prepend an item and edit another. The entries are assigned as follows:
//!
//! ```text
//! kept for      a (web, 1f3c)   b (dns, 77a0)   c (-, 52be)
//! found now     x (new, 0d11)   b (dns, 77a0)   a (web, 9e00)   c (-, 52be)
//! by content                    b                               c
//! by key                                        a: edited, but `web` stands once on both sides
//! ```
//!
//! By position only if no item was added, removed or moved: then a changed item is the one at that position, if its key
//! is the same or both have none. So items that share a key can be edited.

use std::borrow::Cow;

use super::object_writer::{Add, ObjectWriter, list};
use crate::json::{Json, normal};

/// The kept values of the items of a list or map.
#[derive(Debug, Default)]
pub(crate) struct KeptItems<'a> {
    /// The number of items here.
    pub(crate) count: usize,
    pub(crate) items: Vec<KeptItem<'a>>,
    /// The items that this version cannot represent: place in the other version, and content.
    pub(crate) omitted: Vec<(Json<'a>, Json<'a>)>,
}

/// The identity of an item in a list.
#[derive(Debug)]
pub(crate) struct ItemIdentity {
    /// The keys, as a list.
    pub(crate) key: Option<Box<str>>,
    /// The digest of the content, as a number.
    pub(crate) content: u64,
}

/// The kept values of one item.
#[derive(Debug)]
pub(crate) struct KeptItem<'a> {
    pub(crate) index: usize,
    pub(crate) key: Option<String>,
    pub(crate) content: Option<String>,
    /// Parsed on demand: a client could nest them deeper than any definition.
    pub(crate) entries: Json<'a>,
}

impl<'a> KeptItems<'a> {
    /// Parses an `each` entry. `None` for an unknown format.
    pub(super) fn read(mut json: Json<'a>) -> Option<Self> {
        let mut members = std::mem::take(json.open().ok()??);
        let count = members.remove("count")?.scalar()?.parse().ok()?;
        let mut list = members.remove("items")?;
        let elements = std::mem::take(list.open_array()?);
        // Allocates for the actual number: a client could write very many.
        let mut items = Vec::with_capacity(elements.len());
        let mut next = 0;
        for item in elements {
            let item = KeptItem::read(item, next)?;
            next = item.index.checked_add(1)?;
            items.push(item);
        }
        let mut omitted = Vec::new();
        if let Some(mut list) = members.remove("omitted") {
            let pairs = std::mem::take(list.open_array()?);
            omitted.reserve_exact(pairs.len());
            for mut pair in pairs {
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

    /// Assigns entries to the current items.
    pub(crate) fn matched(&self, now: &[ItemIdentity]) -> Vec<Option<&Json<'a>>> {
        let mut found: Vec<Option<&Json<'a>>> = vec![None; now.len()];
        let mut open: Vec<&KeptItem<'a>> = Vec::with_capacity(self.items.len());
        // Of several equal items, prefers the one at its original position.
        for item in &self.items {
            let here = now.get(item.index).map(|identity| identity.content);
            match found.get_mut(item.index) {
                Some(place) if here == item.digest() => *place = Some(&item.entries),
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
                let same_key =
                    now.get(item.index).is_some_and(|identity| identity.key.as_deref() == item.key.as_deref());
                if let Some(place) = found.get_mut(item.index).filter(|_| same_key) {
                    place.get_or_insert(&item.entries);
                }
            }
        }
        found
    }
}

/// Assigns items with unchanged content, in order for equal items.
fn by_content<'i, 'a>(open: &mut Vec<&'i KeptItem<'a>>, now: &[ItemIdentity], found: &mut [Option<&'i Json<'a>>]) {
    let wanted = sorted(open.iter().map(|item| item.digest()));
    if wanted.is_empty() {
        return;
    }
    let free = now.iter().zip(found.iter());
    let free = sorted(free.map(|(identity, place)| place.is_none().then_some(identity.content)));
    let mut free = free.into_iter().peekable();
    let mut is_found = vec![false; open.len()];
    for (content, at) in wanted {
        while free.next_if(|(other, _)| *other < content).is_some() {}
        let Some((_, index)) = free.next_if(|(other, _)| *other == content) else { continue };
        if let (Some(place), Some(item), Some(is_found)) = (found.get_mut(index), open.get(at), is_found.get_mut(at)) {
            (*place, *is_found) = (Some(&item.entries), true);
        }
    }
    let mut is_found = is_found.into_iter();
    open.retain(|_| !is_found.next().unwrap_or_default());
}

/// Assigns items with a key that is unique on both sides.
fn by_key<'i, 'a>(open: &mut Vec<&'i KeptItem<'a>>, now: &[ItemIdentity], found: &mut [Option<&'i Json<'a>>]) {
    let wanted = sorted(open.iter().map(|item| item.key.as_deref()));
    if wanted.is_empty() {
        return;
    }
    let there = sorted(now.iter().map(|identity| identity.key.as_deref()));
    let mut there = there.chunk_by(|(one, _), (other, _)| one == other).peekable();
    let mut is_found = vec![false; open.len()];
    for same in wanted.chunk_by(|(one, _), (other, _)| one == other) {
        let [(key, at)] = same else { continue };
        let is_before = |here: &&[(&str, usize)]| here.first().is_some_and(|(other, _)| other < key);
        while there.next_if(is_before).is_some() {}
        let Some([(other, index)]) = there.peek() else { continue };
        if other == key
            && let (Some(place), Some(item), Some(is_found)) =
                (found.get_mut(*index), open.get(*at), is_found.get_mut(*at))
        {
            place.get_or_insert(&item.entries);
            *is_found = true;
        }
    }
    let mut is_found = is_found.into_iter();
    open.retain(|_| !is_found.next().unwrap_or_default());
}

/// The values with their positions, sorted.
fn sorted<T: Ord>(values: impl ExactSizeIterator<Item = Option<T>>) -> Vec<(T, usize)> {
    let mut sorted: Vec<(T, usize)> = Vec::with_capacity(values.len());
    sorted.extend(values.enumerate().filter_map(|(at, value)| Some((value?, at))));
    sorted.sort_unstable();
    sorted
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

    /// The digest of the content. `None` for an unknown format.
    fn digest(&self) -> Option<u64> {
        let content = self.content.as_deref().filter(|content| content.len() == 12)?;
        let is_ours = content.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_ours.then(|| u64::from_str_radix(content, 16).ok())?
    }

    fn write(&self, next: usize, add: &mut Add<'_>) {
        let index = (self.index != next).then(|| Json::owned(self.index.to_string()));
        let key = self.key.as_deref().map(Json::borrowed);
        let content = self.content.as_deref().map(Json::string);
        let parts = [index.as_ref(), key.as_ref(), content.as_ref(), Some(&self.entries)];
        list(add, parts.into_iter().flatten(), |part, add| part.each_piece(add));
    }
}
