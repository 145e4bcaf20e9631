//! The entries of one object, or of one item.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::entry::Entry;
use super::items::Items;
use super::values::{read, same, write};
use super::was::Was;
use super::written::{Add, Written};
use crate::definition::Fragment;
use crate::json::Json;

/// The entries of one object, or of one item, by the places they are about.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(BTreeMap<Cow<'a, str>, Entry<'a>>);

impl<'a> Fields<'a> {
    /// Reads entries. `None` if one is none of ours.
    pub(crate) fn read(mut json: Json<'a>) -> Option<Self> {
        let members = std::mem::take(json.open().ok()??);
        let entry = |(id, entry)| Some((id, Entry::read(entry)?));
        members.into_pairs().map(entry).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn into_json(self) -> Json<'a> {
        let mut text = String::new();
        self.write(&mut |piece| text.push_str(piece));
        Json::owned(text)
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        let mut written = Written::begin(add);
        for (id, entry) in &self.0 {
            entry.write(written.member(id));
        }
        written.end();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Takes what other entries hold of a place in the place of what these do.
    pub(crate) fn take_from(&mut self, others: &mut Self, id: &str) {
        self.0.remove(id);
        if let Some((id, entry)) = others.0.remove_entry(id) {
            self.0.insert(id, entry);
        }
    }

    fn insert(&mut self, id: &str, entry: Entry<'a>) {
        self.0.insert(Cow::Owned(id.to_owned()), entry);
    }

    /// Keeps the values at an operation's places, with what they became.
    pub(crate) fn keep(&mut self, id: &str, value: &[Option<Json<'a>>], became: &[Option<Json<'a>>]) {
        self.insert(id, Entry::Value { value: write(value), became: write(became) });
    }

    /// The values at so many places of an operation, if what they became is untouched.
    pub(crate) fn value<'b>(&self, id: &str, places: usize, now: &[Option<Json<'_>>]) -> Option<Fragment<'b>> {
        let Entry::Value { value, became } = self.0.get(id)? else { return None };
        let became = read(became.as_ref(), now.len())?;
        same(&became, now).then(|| read(value.as_ref(), places))?
    }

    pub(crate) fn keep_rest(&mut self, id: &str, rest: Json<'a>, seen: bool) {
        self.insert(id, Entry::Rest { rest, seen });
    }

    /// What no operation names in an object, and whether some of it could be seen.
    pub(crate) fn rest<'b>(&self, id: &str) -> Option<(Json<'b>, bool)> {
        match self.0.get(id)? {
            Entry::Rest { rest, seen } => Some((rest.view().into_owned(), *seen)),
            _ => None,
        }
    }

    pub(crate) fn note_was(&mut self, id: &str, was: Was) {
        self.insert(id, Entry::Holder(was));
    }

    pub(crate) fn was(&self, id: &str) -> Option<Was> {
        match self.0.get(id)? {
            Entry::Holder(was) => Some(*was),
            _ => None,
        }
    }

    pub(crate) fn keep_items(&mut self, id: &str, items: Items<'a>) {
        self.insert(id, Entry::Each(items));
    }

    pub(crate) fn items(&self, id: &str) -> Option<&Items<'a>> {
        match self.0.get(id)? {
            Entry::Each(items) => Some(items),
            _ => None,
        }
    }
}
