//! An object's annotations, and ours among them.

use super::kept::Kept;
use super::{ConvertError, fail};
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

/// The entry for annotations that were there, but empty or null, before ours was added.
const SHAPE: &str = "metadata.annotations";
/// The entry for somebody else's annotation under a name that we need.
const DISPLACED: &str = "metadata.annotations[*]";

/// Whether an entry is about the annotations themselves.
pub(super) fn is_own(id: &str) -> bool {
    matches!(id, SHAPE | DISPLACED)
}

impl<'a> Annotations<'a> {
    pub(super) fn take(metadata: &mut Members<'a>) -> Result<Self, ConvertError> {
        let (shape, members) = match metadata.remove(SHAPE.trim_start_matches("metadata.")) {
            None => (Shape::Absent, Members::default()),
            Some(null) if null.is_null() => (Shape::Null, Members::default()),
            Some(mut value) => match value.open() {
                Ok(Some(members)) => (Shape::Present, std::mem::take(members)),
                Ok(None) => {
                    return Err(fail(
                        SHAPE,
                        format!("must be a map of strings, not a {}", value.type_name()),
                    ));
                }
                Err(twice) => return Err(fail(SHAPE, format!("names {:?} twice", twice.0))),
            },
        };
        Ok(Self { shape, members, added: false })
    }

    /// Puts them back, within their budget.
    pub(super) fn put(self, metadata: &mut Members<'a>) -> Result<(), ConvertError> {
        let size: usize = self.members.iter().map(|(name, value)| name.len() + length(value)).sum();
        if self.added && size > BUDGET {
            return Err(fail(
                SHAPE,
                format!(
                    "would hold {size} bytes with what the other version cannot say, and the API server allows {BUDGET}: \
                     make annotations or the fields that are kept smaller in the version that stores them"
                ),
            ));
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

    /// Restores what ours stood in the way of, and writes what must be kept now, if anything must.
    pub(super) fn settle(
        &mut self,
        step: &Step,
        to: Side,
        left: &Kept<'_>,
        mut own: Kept<'a>,
    ) -> Result<(), ConvertError> {
        if let Some(text) = left.get(DISPLACED, "value").filter(|value| value.as_str().is_some()) {
            self.members.set(step.kept.of(to), text);
        }
        if self.members.is_empty() {
            self.shape = match left.get(SHAPE, "was").as_ref().and_then(Json::as_str).as_deref() {
                Some("null") => Shape::Null,
                Some("empty") => Shape::Present,
                _ if left.is_empty() => self.shape,
                _ => Shape::Absent,
            };
        }
        let name = step.kept.of(to.other());
        let theirs = self.text(name);
        // Somebody else's annotation in our form would be taken for ours on the way home, so it is put away, too.
        let mistaken =
            theirs.as_deref().is_some_and(|text| super::recognized(text, step).is_some());
        if own.is_empty() && !mistaken {
            return Ok(());
        }
        if let Some(text) = theirs {
            own.add(DISPLACED, "value", Json::string(&text));
        }
        match (self.members.is_empty(), self.shape) {
            (true, Shape::Null) => own.add(SHAPE, "was", Json::string("null")),
            (true, Shape::Present) => own.add(SHAPE, "was", Json::string("empty")),
            _ => {}
        }
        self.shape = Shape::Present;
        self.added = true;
        self.members.set(name, Json::string(&own.into_json().to_text()));
        Ok(())
    }
}

fn length(value: &Json<'_>) -> usize {
    value.as_str().map_or(0, |text| text.len())
}
