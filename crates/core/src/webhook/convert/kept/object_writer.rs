//! Incremental writer for objects, without a tree.

use crate::json::Json;

/// Receives the written text piece by piece.
pub(super) type Add<'f> = dyn FnMut(&str) + 'f;

/// Writes an object member by member.
pub(super) struct ObjectWriter<'o, 'f> {
    add: &'o mut Add<'f>,
    is_empty: bool,
}

impl<'o, 'f> ObjectWriter<'o, 'f> {
    pub(super) fn begin(add: &'o mut Add<'f>) -> Self {
        Self { add, is_empty: true }
    }

    /// Starts a member. Its value follows.
    pub(super) fn member(&mut self, name: &str) -> &mut Add<'f> {
        (self.add)(if self.is_empty { "{" } else { "," });
        self.is_empty = false;
        Json::each_piece_of_string(name, self.add);
        (self.add)(":");
        self.add
    }

    /// Writes a whole member.
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
