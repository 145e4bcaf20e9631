//! A part of an annotation that is written while the rest of it is not known yet.

use super::object_writer::Add;

/// A text that is held while an annotation has room for it, and measured in any case: a request may have more to keep
/// than can be written.
#[derive(Debug, Default)]
pub(crate) struct KeptText {
    text: String,
    size: usize,
}

impl KeptText {
    /// With room for so many bytes, as far as they can be written.
    pub(super) fn with_room(size: usize) -> Self {
        Self { text: String::with_capacity(size.min(LONGEST)), size: 0 }
    }

    pub(super) fn add(&mut self, piece: &str) {
        self.add_unwritten(piece.len());
        if self.is_whole() {
            self.text.push_str(piece);
        }
    }

    /// Adds bytes that are known by their number alone, as there were too many of them.
    pub(super) fn add_unwritten(&mut self, size: usize) {
        self.size += size;
        if !self.is_whole() {
            self.text = String::new();
        }
    }

    fn is_whole(&self) -> bool {
        self.size <= LONGEST
    }

    /// How many bytes it has, written or not.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many bytes it has that are not written.
    pub(super) fn unwritten(&self) -> usize {
        if self.is_whole() { 0 } else { self.size }
    }

    /// A part of it. `None` if it is not written.
    pub(super) fn part(&self, start: usize, size: usize) -> Option<&str> {
        self.text.get(start..start + size).filter(|_| self.is_whole())
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        add(&self.text);
    }
}

/// The longest annotation that can be ours, in bytes: what the API server allows for all of an object's together
/// (`apimachinery pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`).
pub(crate) const LONGEST: usize = 256 * 1024;
