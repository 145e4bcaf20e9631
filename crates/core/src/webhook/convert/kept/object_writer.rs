//! Objects that are written piece by piece, without a tree of what is in them.

use crate::json::Json;

/// Takes the text of what is written, piece by piece.
pub(super) type Add<'f> = dyn FnMut(&str) + 'f;

/// Writes an object, member by member.
pub(super) struct ObjectWriter<'o, 'f> {
    add: &'o mut Add<'f>,
    is_empty: bool,
}

impl<'o, 'f> ObjectWriter<'o, 'f> {
    pub(super) fn begin(add: &'o mut Add<'f>) -> Self {
        Self { add, is_empty: true }
    }

    /// Begins a member: its value comes next.
    pub(super) fn member(&mut self, name: &str) -> &mut Add<'f> {
        (self.add)(if self.is_empty { "{" } else { "," });
        self.is_empty = false;
        Json::each_piece_of_string(name, self.add);
        (self.add)(":");
        self.add
    }

    /// A whole member.
    pub(super) fn add(&mut self, name: &str, value: &Json<'_>) {
        value.each_piece(self.member(name));
    }

    pub(super) fn end(self) {
        (self.add)(if self.is_empty { "{}" } else { "}" });
    }
}

/// Writes a list.
pub(super) fn list<'f, T>(
    add: &mut Add<'f>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut Add<'f>),
) {
    add("[");
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            add(",");
        }
        write(item, add);
    }
    add("]");
}
