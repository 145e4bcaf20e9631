//! The annotation as a whole.

use super::kept_fields::KeptFields;
use super::kept_text::LONGEST;
use super::notes::Notes;
use super::object_before::ObjectBefore;
use super::object_writer::{Add, ObjectWriter};
use crate::json::Json;

/// What is kept on one object for one version.
#[derive(Debug, Default)]
pub(crate) struct Kept<'a> {
    /// `fields`: from a place of the version to what is kept of it.
    pub(crate) fields: KeptFields<'a>,
    /// `rollout`: what the conversion of the status noted.
    pub(crate) rollout: Notes<'a>,
    /// `annotations`: what the object's annotations were before this one was added, where there were none.
    pub(crate) annotations: Option<ObjectBefore>,
    /// `sparse`: the object was not complete in the version, so that nothing may be filled in on the way home.
    pub(crate) sparse: bool,
}

impl<'a> Kept<'a> {
    /// Reads an annotation. `None` if this is not the form that we write: then it is somebody else's.
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

    /// Whether nothing is kept. What the annotations were is no reason to add one.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.rollout.is_empty() && !self.sparse
    }

    /// The value of the annotation, as JSON.
    pub(crate) fn to_text(&self) -> String {
        self.to_text_of(self.size())
    }

    /// The same, where it is known how many bytes these are.
    pub(crate) fn to_text_of(&self, size: usize) -> String {
        let mut text = String::with_capacity(size);
        self.write(&mut |piece| text.push_str(piece));
        text
    }

    /// The bytes of the same, those included that were too many to be written.
    pub(crate) fn size(&self) -> usize {
        let mut size = self.fields.unwritten();
        self.write(&mut |piece| size += piece.len());
        size
    }

    /// The same, piece by piece.
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

/// Whether the value of an annotation `pointsman.dev/kept-…` is of the form that we write. If not, it is somebody
/// else's.
#[must_use]
pub fn is_kept(text: &str) -> bool {
    Kept::parse(text).is_some()
}
