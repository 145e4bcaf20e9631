//! What an annotation holds about one place.

use super::kept_items::KeptItems;
use super::kept_text::KeptText;
use super::object_before::ObjectBefore;
use super::object_writer::{Add, ObjectWriter};
use super::values::read;
use crate::definition::Fragment;
use crate::json::Json;

/// What is kept of one place: one of these, each with members of its own.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// `each`: the items of a list or map.
    Each(KeptItems<'a>),
    /// The same, as it is to be written.
    WrittenEach(KeptText),
    /// `was`: an object on the way to fields, before values were put into it here. So it is again when they are taken
    /// out and nothing is left in it.
    Holder(ObjectBefore),
    /// `rest`: what no operation names in an object that only the version has, or that stands where a value went.
    /// `seen`: some of the object could be seen here, so that it is gone if all of that is.
    Rest { rest: Json<'a>, seen: bool },
    /// `value`: the value in the version, `became`: what it was turned into. Given back while that is untouched.
    /// Absence is absence.
    Value { value: Option<Json<'a>>, became: Option<Json<'a>> },
    /// The same, where what it was turned into is long: `digest` stands in its place.
    LongValue { value: Option<Json<'a>>, digest: Json<'a> },
    /// `ran`: converting the value back needs the operation, although its condition does not hold. Nothing else is
    /// kept.
    Ran,
}

impl<'a> Entry<'a> {
    /// Whether there is something to give back. That something was not there is nothing.
    pub(super) fn holds(&self) -> bool {
        !matches!(
            self,
            Self::Holder(ObjectBefore::Absent)
                | Self::Value { value: None, .. }
                | Self::LongValue { value: None, .. }
                | Self::Ran
        )
    }

    /// Whether this comes back into what is at its own place, and not into the object that holds that: it is about an
    /// object that both versions have, or about items.
    pub(crate) fn is_about_what_is_there(&self) -> bool {
        matches!(self, Self::Holder(_) | Self::Each(_) | Self::WrittenEach(_))
    }

    /// The values for so many places of an operation. `None` if this holds no such values.
    pub(crate) fn given(&self, places: usize) -> Option<Fragment<'a>> {
        match self {
            Self::Value { value, .. } | Self::LongValue { value, .. } => read(value.as_ref(), places),
            _ => None,
        }
    }

    /// Reads an entry. `None` if it is none of ours.
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

    /// How many bytes of it were too many to be written.
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
