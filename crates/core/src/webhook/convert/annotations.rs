//! An object's annotations, and ours among them.

use super::kept::{ANNOTATIONS, DISPLACED, Kept, recognized};
use super::{error::ConvertError, tree::Was};
use crate::definition::{Side, Step};
use crate::json::{Json, Members, unescape};

/// The annotations of an object.
#[derive(Clone)]
pub(in crate::webhook) struct Annotations<'a> {
    shape: Shape,
    members: Members<'a>,
    /// We added to them, so they count against the budget.
    added: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Shape {
    Absent,
    Null,
    Present,
}

/// What the API server allows for all keys and values of an object's annotations together
/// (`apimachinery pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`).
const BUDGET: usize = 256 * 1024;

impl<'a> Annotations<'a> {
    pub(super) fn take(metadata: &mut Members<'a>) -> Result<Self, ConvertError> {
        let (shape, members) = match metadata.remove("annotations") {
            None => (Shape::Absent, Members::default()),
            Some(null) if null.is_null() => (Shape::Null, Members::default()),
            Some(mut value) => match value.open() {
                Ok(Some(members)) => (Shape::Present, std::mem::take(members)),
                Ok(None) => {
                    return Err(ConvertError::NotAMapOfStrings { found: value.a_type_name() });
                }
                Err(duplicate) => return Err(ConvertError::named_twice(ANNOTATIONS, duplicate)),
            },
        };
        Ok(Self { shape, members, added: false })
    }

    /// Puts them back, within their budget.
    pub(super) fn put(self, metadata: &mut Members<'a>) -> Result<(), ConvertError> {
        let size: usize = self.members.iter().map(|(name, value)| name.len() + length(value)).sum();
        if self.added && size > BUDGET {
            return Err(ConvertError::AnnotationsTooLarge { size, limit: BUDGET });
        }
        match self.shape {
            Shape::Absent if self.members.is_empty() => {}
            Shape::Null if self.members.is_empty() => metadata.set("annotations", Json::NULL),
            _ => metadata.set("annotations", Json::Object(self.members)),
        }
        Ok(())
    }

    /// The value of an annotation.
    pub(in crate::webhook) fn text(&self, name: &str) -> Option<String> {
        let value = self.members.get(name)?;
        value.scalar().filter(|text| text.starts_with('"')).map(|text| unescape(text).into_owned())
    }

    /// Sets an annotation.
    pub(in crate::webhook) fn set(&mut self, name: &str, value: &str) {
        self.members.set(name, Json::string(value));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.members.remove(name);
    }

    /// Restores what ours stood in the way of, and writes what must be kept now, if anything must. `kept` is what the
    /// annotation held that was taken for ours.
    pub(super) fn settle(&mut self, step: &Step, to: Side, kept: &Kept<'_>, mut to_keep: Kept<'a>) {
        let displaced = kept.entry(DISPLACED).and_then(|entry| entry.value.as_ref());
        if let Some(text) = displaced.filter(|value| value.as_str().is_some()) {
            self.members.set(step.kept.of(to), text.view().into_owned());
        }
        if self.members.is_empty() {
            self.shape = match kept.entry(ANNOTATIONS).and_then(|entry| entry.was()) {
                Some(Was::Null) => Shape::Null,
                Some(Was::Empty) => Shape::Present,
                _ if kept.is_empty() => self.shape,
                _ => Shape::Absent,
            };
        }
        let name = step.kept.of(to.other());
        let theirs = self.text(name);
        // Somebody else's annotation in our form would be taken for ours on the way home, so it is put away, too.
        let mistaken = theirs.as_deref().is_some_and(|text| recognized(text, step).is_some());
        if to_keep.is_empty() && !mistaken {
            return;
        }
        if let Some(text) = theirs {
            to_keep.add(DISPLACED, |entry| entry.value = Some(Json::string(&text)));
        }
        match (self.members.is_empty(), self.shape) {
            (true, Shape::Null) => to_keep.add(ANNOTATIONS, |entry| entry.set_was(Was::Null)),
            (true, Shape::Present) => to_keep.add(ANNOTATIONS, |entry| entry.set_was(Was::Empty)),
            _ => {}
        }
        self.shape = Shape::Present;
        self.added = true;
        self.members.set(name, Json::string(&to_keep.into_json().to_text()));
    }
}

/// What a value counts towards the budget. The API server lets nothing but strings into annotations.
fn length(value: &Json<'_>) -> usize {
    value.as_str().map_or(0, |text| text.len())
}
