//! The state of an object before values were put into it.

use super::object_writer::Add;
use crate::json::Json;

/// The previous state: written as `absent`, `empty` or `null`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ObjectBefore {
    Absent,
    Empty,
    Null,
}

impl ObjectBefore {
    pub(super) fn read(text: &Json<'_>) -> Option<Self> {
        match text.as_str()?.as_ref() {
            "absent" => Some(Self::Absent),
            "empty" => Some(Self::Empty),
            "null" => Some(Self::Null),
            _ => None,
        }
    }

    pub(super) fn write(self, add: &mut Add<'_>) {
        add(match self {
            Self::Absent => "\"absent\"",
            Self::Empty => "\"empty\"",
            Self::Null => "\"null\"",
        });
    }
}
