//! The kept annotation.

use super::kept_fields::KeptFields;
use super::kept_text::LONGEST;
use super::notes::Notes;
use super::object_before::ObjectBefore;
use super::object_writer::{Add, ObjectWriter};
use crate::json::Json;

/// The kept values of one object for one version.
#[derive(Debug, Default)]
pub(crate) struct Kept<'a> {
    /// `fields`: from a place of the version to its entry.
    pub(crate) fields: KeptFields<'a>,
    /// `rollout`: notes of the status conversion.
    pub(crate) rollout: Notes<'a>,
    /// `annotations`: the original state of the object's annotations, if there were none.
    pub(crate) annotations: Option<ObjectBefore>,
    /// `sparse`: the object was incomplete in the version, so the conversion back must not fill in defaults.
    pub(crate) sparse: bool,
}

impl<'a> Kept<'a> {
    /// Parses an annotation. `None` for an unknown format, which belongs to another writer.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut json = Json::parse(text).ok()?;
        let members = std::mem::take(json.open().ok()??);
        if members.is_empty() {
            return None;
        }
        let mut kept = Self::default();
        for (name, value) in members.into_pairs() {
            match &*name {
                "fields" => kept.fields = KeptFields::read(value)?,
                "rollout" => kept.rollout = Notes::read(value)?,
                "annotations" => kept.annotations = Some(ObjectBefore::read(&value)?),
                "sparse" => kept.sparse = value.scalar()? == "true",
                _ => return None,
            }
        }
        Some(kept)
    }

    /// Returns whether no value is kept. The original state of the annotations alone needs no annotation.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.rollout.is_empty() && !self.sparse
    }

    /// The value of the annotation, as JSON.
    pub(crate) fn to_text(&self) -> String {
        self.to_text_of(self.size())
    }

    /// The value with a known size in bytes.
    pub(crate) fn to_text_of(&self, size: usize) -> String {
        let mut text = String::with_capacity(size);
        self.write(&mut |piece| text.push_str(piece));
        text
    }

    /// The size in bytes, including parts that were too large to be written.
    pub(crate) fn size(&self) -> usize {
        let mut size = self.fields.unwritten();
        self.write(&mut |piece| size += piece.len());
        size
    }

    /// Writes the value piece by piece.
    fn write(&self, add: &mut Add<'_>) {
        let mut writer = ObjectWriter::begin(add);
        if !self.fields.is_empty() {
            self.fields.write(writer.member("fields"));
        }
        if !self.rollout.is_empty() {
            self.rollout.write(writer.member("rollout"));
        }
        if let Some(before) = self.annotations {
            before.write(writer.member("annotations"));
        }
        if self.sparse {
            writer.add("sparse", &Json::borrowed("true"));
        }
        writer.end();
    }
}

/// Returns whether the value of a `pointsman.dev/kept-…` annotation is in the kept format. Other values belong to
/// another writer.
#[must_use]
pub fn is_kept(text: &str) -> bool {
    Kept::parse(text).is_some()
}
