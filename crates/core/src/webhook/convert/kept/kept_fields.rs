//! The entries of one object or item.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::entry::Entry;
use super::kept_items::KeptItems;
use super::kept_text::KeptText;
use super::object_before::ObjectBefore;
use super::object_writer::{Add, ObjectWriter};
use super::values::{filled, read, same, same_when_filled, write};
use crate::definition::{Fragment, Place};
use crate::json::{Json, normal};
use crate::webhook::rollout_hash::digest;

/// The entries of one object or item, by place.
#[derive(Debug, Default)]
pub(crate) struct KeptFields<'a>(BTreeMap<Cow<'a, str>, Entry<'a>>);

impl<'a> KeptFields<'a> {
    /// Parses entries. `None` if one has an unknown format.
    pub(crate) fn read(mut json: Json<'a>) -> Option<Self> {
        let members = std::mem::take(json.open().ok()??);
        // Allocates for the actual number: an annotation of another writer may have very many.
        let mut entries = Vec::with_capacity(members.len());
        for (id, entry) in members.into_pairs() {
            entries.push((id, Entry::read(entry)?));
        }
        Some(Self(entries.into_iter().collect()))
    }

    /// Writes the entries into a larger text.
    pub(super) fn add_to(&self, text: &mut KeptText) {
        self.write(&mut |piece| text.add(piece));
        text.add_unwritten(self.unwritten());
    }

    /// The number of bytes that were too many to be written.
    pub(super) fn unwritten(&self) -> usize {
        self.0.values().map(Entry::unwritten).sum()
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        let mut writer = ObjectWriter::begin(add);
        for (id, entry) in &self.0 {
            entry.write(writer.member(id));
        }
        writer.end();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// All entries, by place.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Entry<'a>)> {
        self.0.iter().map(|(id, entry)| (&**id, entry))
    }

    /// Returns whether a value or an object is kept for a place.
    pub(crate) fn keeps(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|entry| !matches!(entry, Entry::Ran))
    }

    /// The entries with a value to restore, by place.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, &Entry<'a>)> {
        self.all().filter(|(_, entry)| entry.holds())
    }

    /// Removes values to restore at some of these places. Returns whether there were any.
    pub(crate) fn forget(&mut self, is_missing: &mut dyn FnMut((&str, &Entry<'_>)) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|id, entry| !entry.holds() || !is_missing((id, entry)));
        self.0.len() < before
    }

    /// Replaces the entry of a place by that of other entries.
    pub(crate) fn take_from(&mut self, others: &mut Self, id: &str) {
        self.0.remove(id);
        if let Some((id, entry)) = others.0.remove_entry(id) {
            self.0.insert(id, entry);
        }
    }

    fn insert(&mut self, id: &'a str, entry: Entry<'a>) {
        self.0.insert(Cow::Borrowed(id), entry);
    }

    /// Keeps the values of an operation, with the converted values. `at` are the places of the converted values. Empty
    /// if no defaults apply.
    pub(crate) fn keep(
        &mut self,
        id: &'a str,
        value: &[Option<Json<'a>>],
        (became, at): (&[Option<Json<'a>>], &[Place]),
    ) {
        let (value, written) = (write(value), write(became));
        // A long value is represented by a digest that includes the API server's defaults, so that it is the same
        // before and after defaulting.
        let long = written.as_ref().and_then(long).map(|normal| match filled(became, at) {
            Some(filled) => normal_of(&filled).unwrap_or(normal),
            None => normal,
        });
        let entry = match long {
            Some(normal) => Entry::LongValue { value, digest: digest_of(&normal) },
            None => Entry::Value { value, became: written },
        };
        self.insert(id, entry);
    }

    /// The kept values of an operation, if the converted values are unchanged. Defaults that the API server filled in
    /// since are no change: a manifest file lacks them, and so do objects stored before the default existed. `at` are
    /// the current places. Empty if no defaults apply.
    pub(crate) fn value(
        &self,
        id: &str,
        places: usize,
        (now, at): (&[Option<Json<'_>>], &[Place]),
    ) -> Option<Fragment<'a>> {
        let (value, is_untouched) = match self.0.get(id)? {
            Entry::Value { value, became } => {
                let became = read(became.as_ref(), now.len())?;
                (value, same(&became, now) || same_when_filled(&became, now, at))
            }
            Entry::LongValue { value, digest } => {
                let is_of = |now: &[Option<Json<'_>>]| normal_of(now).is_some_and(|now| digest_of(&now).same(digest));
                (value, is_of(now) || filled(now, at).is_some_and(|filled| is_of(&filled)))
            }
            _ => return None,
        };
        is_untouched.then(|| read(value.as_ref(), places))?
    }

    /// Records that an operation runs in the conversion back, although its condition does not hold.
    pub(crate) fn note_run(&mut self, id: &'a str) {
        self.insert(id, Entry::Ran);
    }

    pub(crate) fn keep_rest(&mut self, id: &'a str, rest: Json<'a>, seen: bool) {
        self.insert(id, Entry::Rest { rest, seen });
    }

    /// The fields without an operation of an object.
    pub(crate) fn rest(&self, id: &str) -> Option<Json<'a>> {
        match self.0.get(id)? {
            Entry::Rest { rest, .. } => Some(rest.clone()),
            _ => None,
        }
    }

    /// Returns whether a part of an object that only the version has was visible here.
    pub(crate) fn is_seen(&self, id: &str) -> bool {
        matches!(self.0.get(id), Some(Entry::Rest { seen: true, .. }))
    }

    /// Returns whether there is a value to restore at a place.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(Entry::holds)
    }

    pub(crate) fn note_object_before(&mut self, id: &'a str, before: ObjectBefore) {
        self.insert(id, Entry::Holder(before));
    }

    pub(crate) fn object_before(&self, id: &str) -> Option<ObjectBefore> {
        match self.0.get(id)? {
            Entry::Holder(before) => Some(*before),
            _ => None,
        }
    }

    pub(crate) fn keep_items(&mut self, id: &'a str, items: KeptText) {
        self.insert(id, Entry::WrittenEach(items));
    }

    pub(crate) fn items(&self, id: &str) -> Option<&KeptItems<'a>> {
        match self.0.get(id)? {
            Entry::Each(items) => Some(items),
            _ => None,
        }
    }
}

/// The maximum size of a converted value that is written in full, in bytes. Longer values are present in the object
/// anyway.
const WRITTEN_OUT: usize = 96;

/// The normal form of a value that is too long to be written.
fn long(became: &Json<'_>) -> Option<String> {
    let normal = (became.size() > WRITTEN_OUT).then(|| normal(&became.text()))?;
    (normal.len() > WRITTEN_OUT).then_some(normal)
}

/// The normal form of the current values. A single value is not copied, because it is long.
fn normal_of(now: &[Option<Json<'_>>]) -> Option<String> {
    match now {
        [one] => one.as_ref().map(|one| normal(&one.text())),
        several => write(several).map(|several| normal(&several.text())),
    }
}

/// A digest of a normal form, with 64 bits, to detect a changed value.
fn digest_of<'a>(normal: &str) -> Json<'a> {
    let mut digest = digest(&[normal.as_bytes()]);
    digest.truncate(16);
    Json::string(&digest).into_owned()
}
