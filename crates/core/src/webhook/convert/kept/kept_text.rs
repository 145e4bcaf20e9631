//! A part of an annotation that is written before its total size is known.

use super::object_writer::Add;

/// A text that is stored up to the size limit of annotations, and measured beyond. A request may have more values to
/// keep than can be written.
#[derive(Debug, Default)]
pub(crate) struct KeptText {
    text: String,
    size: usize,
}

impl KeptText {
    /// A text with capacity for this many bytes, up to the limit.
    pub(super) fn with_room(size: usize) -> Self {
        Self { text: String::with_capacity(size.min(LONGEST)), size: 0 }
    }

    pub(super) fn add(&mut self, piece: &str) {
        self.add_unwritten(piece.len());
        if self.is_whole() {
            self.text.push_str(piece);
        }
    }

    /// Adds bytes that were too many to be written, by their number.
    pub(super) fn add_unwritten(&mut self, size: usize) {
        self.size += size;
        if !self.is_whole() {
            self.text = String::new();
        }
    }

    fn is_whole(&self) -> bool {
        self.size <= LONGEST
    }

    /// The size in bytes, written or not.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The number of bytes that are not written.
    pub(super) fn unwritten(&self) -> usize {
        if self.is_whole() { 0 } else { self.size }
    }

    /// A part of the text. `None` if the text is not written.
    pub(super) fn part(&self, start: usize, size: usize) -> Option<&str> {
        self.text.get(start..start + size).filter(|_| self.is_whole())
    }

    pub(super) fn write(&self, add: &mut Add<'_>) {
        add(&self.text);
    }
}

/// The maximum size of a kept annotation in bytes: the API server's limit for all annotations of an object
/// (`apimachinery pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`).
pub(crate) const LONGEST: usize = 256 * 1024;
