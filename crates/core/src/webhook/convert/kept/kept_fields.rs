//! The entries of one object, or of one item.

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

/// The entries of one object, or of one item, by the places they are about.
#[derive(Debug, Default)]
pub(crate) struct KeptFields<'a>(BTreeMap<Cow<'a, str>, Entry<'a>>);

impl<'a> KeptFields<'a> {
    /// Reads entries. `None` if one is none of ours.
    pub(crate) fn read(mut json: Json<'a>) -> Option<Self> {
        let members = std::mem::take(json.open().ok()??);
        // As many as there are: somebody else's annotation may have very many.
        let mut entries = Vec::with_capacity(members.len());
        for (id, entry) in members.into_pairs() {
            entries.push((id, Entry::read(entry)?));
        }
        Some(Self(entries.into_iter().collect()))
    }

    /// Writes the entries where others stand.
    pub(super) fn add_to(&self, text: &mut KeptText) {
        self.write(&mut |piece| text.add(piece));
        text.add_unwritten(self.unwritten());
    }

    /// How many bytes of them were too many to be written.
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

    /// All entries, by their places.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Entry<'a>)> {
        self.0.iter().map(|(id, entry)| (&**id, entry))
    }

    /// Whether a value or an object is kept of a place.
    pub(crate) fn keeps(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|entry| !matches!(entry, Entry::Ran))
    }

    /// The entries that have something to give back, by their places.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, &Entry<'a>)> {
        self.all().filter(|(_, entry)| entry.holds())
    }

    /// Drops what there is to give back at some of these places. Whether there was any.
    pub(crate) fn forget(&mut self, is_gone: &mut dyn FnMut((&str, &Entry<'_>)) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|id, entry| !entry.holds() || !is_gone((id, entry)));
        self.0.len() < before
    }

    /// Takes what other entries hold of a place in the place of what these do.
    pub(crate) fn take_from(&mut self, others: &mut Self, id: &str) {
        self.0.remove(id);
        if let Some((id, entry)) = others.0.remove_entry(id) {
            self.0.insert(id, entry);
        }
    }

    fn insert(&mut self, id: &'a str, entry: Entry<'a>) {
        self.0.insert(Cow::Borrowed(id), entry);
    }

    /// Keeps the values at an operation's places, with what they became. `at` are the places where that stands; none
    /// where nothing is filled in.
    pub(crate) fn keep(
        &mut self,
        id: &'a str,
        value: &[Option<Json<'a>>],
        (became, at): (&[Option<Json<'a>>], &[Place]),
    ) {
        let (value, written) = (write(value), write(became));
        // What is long is told by a digest, with all that the API server fills in: no matter whether it has done so.
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

    /// The values at so many places of an operation, if what they became is untouched. What the API server has filled
    /// in since is no touch: a manifest from a file lacks it, and so does what was stored before there was a default.
    /// `at` are the places where that stands now; none where nothing is filled in.
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

    /// Notes that an operation runs on the way back, although its condition does not hold.
    pub(crate) fn note_run(&mut self, id: &'a str) {
        self.insert(id, Entry::Ran);
    }

    pub(crate) fn keep_rest(&mut self, id: &'a str, rest: Json<'a>, seen: bool) {
        self.insert(id, Entry::Rest { rest, seen });
    }

    /// What no operation names in an object.
    pub(crate) fn rest(&self, id: &str) -> Option<Json<'a>> {
        match self.0.get(id)? {
            Entry::Rest { rest, .. } => Some(rest.clone()),
            _ => None,
        }
    }

    /// Whether some of an object that only the version has could be seen here.
    pub(crate) fn is_seen(&self, id: &str) -> bool {
        matches!(self.0.get(id), Some(Entry::Rest { seen: true, .. }))
    }

    /// Whether there is something to give back at a place.
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

/// Bytes of what a value became that are written out. What is longer stands beside the annotation anyway.
const WRITTEN_OUT: usize = 96;

/// The normal form of what is too long to be written out.
fn long(became: &Json<'_>) -> Option<String> {
    let normal = (became.size() > WRITTEN_OUT).then(|| normal(&became.text()))?;
    (normal.len() > WRITTEN_OUT).then_some(normal)
}

/// The normal form of what values are now. One value is not copied for it: it is long.
fn normal_of(now: &[Option<Json<'_>>]) -> Option<String> {
    match now {
        [one] => one.as_ref().map(|one| normal(&one.text())),
        several => write(several).map(|several| normal(&several.text())),
    }
}

/// A digest of a normal form. 64 bits: a value that was changed has another one.
fn digest_of<'a>(normal: &str) -> Json<'a> {
    let mut digest = digest(&[normal.as_bytes()]);
    digest.truncate(16);
    Json::string(&digest).into_owned()
}
