//! The entry of one place.

use super::kept_items::KeptItems;
use super::kept_text::KeptText;
use super::object_before::ObjectBefore;
use super::object_writer::{Add, ObjectWriter};
use super::values::read;
use crate::definition::Fragment;
use crate::json::Json;

/// The entry of one place. Each variant has its own members.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// `each`: the items of a list or map.
    Each(KeptItems<'a>),
    /// `each`, in written form.
    WrittenEach(KeptText),
    /// `was`: the state of an object before values were put into it. The object returns to it when these values are
    /// taken out and no other value is left.
    Holder(ObjectBefore),
    /// `rest`: the fields without an operation of an object that only the version has, or whose place another value
    /// took. `seen`: a part of the object was visible here, so the object is removed if all of that is removed.
    Rest { rest: Json<'a>, seen: bool },
    /// `value`: the value in the version, `became`: the converted value. Restored while the converted value is
    /// unchanged. An absent member is an absent value.
    Value { value: Option<Json<'a>>, became: Option<Json<'a>> },
    /// `value` with a `digest` in place of a long converted value.
    LongValue { value: Option<Json<'a>>, digest: Json<'a> },
    /// `ran`: the conversion back needs the operation, although its condition does not hold. No value is kept.
    Ran,
}

impl<'a> Entry<'a> {
    /// Returns whether there is a value to restore. A recorded absence is no value.
    pub(super) fn holds(&self) -> bool {
        !matches!(
            self,
            Self::Holder(ObjectBefore::Absent)
                | Self::Value { value: None, .. }
                | Self::LongValue { value: None, .. }
                | Self::Ran
        )
    }

    /// Returns whether the entry concerns an existing value in its place, rather than its parent: a shared object, or
    /// items.
    pub(crate) fn is_about_what_is_there(&self) -> bool {
        matches!(self, Self::Holder(_) | Self::Each(_) | Self::WrittenEach(_))
    }

    /// The values for the places of an operation. `None` if the entry has no such values.
    pub(crate) fn given(&self, places: usize) -> Option<Fragment<'a>> {
        match self {
            Self::Value { value, .. } | Self::LongValue { value, .. } => read(value.as_ref(), places),
            _ => None,
        }
    }

    /// Parses an entry. `None` for an unknown format.
    pub(super) fn read(mut json: Json<'a>) -> Option<Self> {
        let mut members = std::mem::take(json.open().ok()??);
        let entry = if let Some(each) = members.remove("each") {
            Self::Each(KeptItems::read(each)?)
        } else if let Some(was) = members.remove("was") {
            Self::Holder(ObjectBefore::read(&was)?)
        } else if let Some(ran) = members.remove("ran") {
            ran.scalar().filter(|ran| *ran == "true")?;
            Self::Ran
        } else if let Some(rest) = members.remove("rest") {
            Self::Rest { rest, seen: members.remove("seen").is_some() }
        } else {
            let value = members.remove("value");
            match members.remove("digest") {
                Some(digest) => Self::LongValue { value, digest },
                None => Self::Value { value, became: members.remove("became") },
            }
        };
        members.is_empty().then_some(entry)
    }

    /// The number of bytes that were too many to be written.
    pub(super) fn unwritten(&self) -> usize {
        match self {
            Self::WrittenEach(text) => text.unwritten(),
            _ => 0,
        }
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        let mut writer = ObjectWriter::begin(add);
        match self {
            Self::Each(items) => items.write(writer.member("each")),
            Self::WrittenEach(text) => text.write(writer.member("each")),
            Self::Holder(before) => before.write(writer.member("was")),
            Self::Ran => writer.add("ran", &Json::borrowed("true")),
            Self::Rest { rest, seen } => {
                writer.add("rest", rest);
                if *seen {
                    writer.add("seen", &Json::borrowed("true"));
                }
            }
            Self::Value { value, became } => {
                for (name, value) in [("value", value), ("became", became)] {
                    if let Some(value) = value {
                        writer.add(name, value);
                    }
                }
            }
            Self::LongValue { value, digest } => {
                if let Some(value) = value {
                    writer.add("value", value);
                }
                writer.add("digest", digest);
            }
        }
        writer.end();
    }
}
