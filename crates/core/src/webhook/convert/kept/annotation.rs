//! A whole annotation: the entries of one object, or of one item.

use std::borrow::Cow;

use super::entry::Entry;
use crate::definition::{Fragment, Place};
use crate::json::{Json, Members};

/// The entry for annotations that were there, but empty or null, before ours was added.
pub(in crate::webhook::convert) const ANNOTATIONS: &str = "metadata.annotations";
/// The entry for somebody else's annotation under the name of ours.
pub(in crate::webhook::convert) const DISPLACED: &str = "metadata.annotations[*]";

/// Entries that were read, or are being written, by the paths of their fields.
#[derive(Debug, Default)]
pub(in crate::webhook::convert) struct Kept<'a>(Vec<(Cow<'a, str>, Entry<'a>)>);

impl<'a> Kept<'a> {
    /// Parses an annotation. `None` if this is not the form that we write.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut json = Json::parse(text).ok()?;
        let members = std::mem::take(json.open().ok()??);
        let entries = members.iter().all(|(_, entry)| entry.is_object());
        (entries && !members.is_empty()).then(|| Self::read(members))
    }

    pub(super) fn read(members: Members<'a>) -> Self {
        Self(members.into_pairs().map(|(path, entry)| (path, Entry::read(entry))).collect())
    }

    pub(in crate::webhook::convert) fn into_json(self) -> Json<'a> {
        let mut written = Members::default();
        for (path, entry) in self.0 {
            written.set(&path, entry.into_json());
        }
        Json::Object(written)
    }

    pub(in crate::webhook::convert) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths of the fields that have an entry.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _)| path.as_ref())
    }

    /// The entry of a field.
    pub(in crate::webhook::convert) fn entry(&self, path: &str) -> Option<&Entry<'a>> {
        self.0.iter().find(|(other, _)| other == path).map(|(_, entry)| entry)
    }

    /// Adds to the entry of a field.
    pub(in crate::webhook::convert) fn add(
        &mut self,
        path: &str,
        add: impl FnOnce(&mut Entry<'a>),
    ) {
        match self.0.iter_mut().find(|(other, _)| other == path) {
            Some((_, entry)) => add(entry),
            None => {
                let mut entry = Entry::default();
                add(&mut entry);
                self.0.push((Cow::Owned(path.to_owned()), entry));
            }
        }
    }

    /// Keeps the values of a field, with what they became.
    pub(in crate::webhook::convert) fn keep(
        &mut self,
        path: &str,
        value: &[Option<Json<'a>>],
        became: &[Option<Json<'a>>],
    ) {
        self.add(path, |entry| entry.keep(value, became));
    }

    /// The kept values of a field, if what they became is untouched and the schema admits them.
    pub(in crate::webhook::convert) fn give_back<'b>(
        &self,
        path: &str,
        places: &[Place],
        now: &[Option<Json<'_>>],
    ) -> Option<Fragment<'b>> {
        self.entry(path)?.give_back(places, now)
    }
}
