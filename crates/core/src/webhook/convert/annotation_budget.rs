//! How much room an object has left for what must be kept.

use super::kept::LONGEST;

/// How what must be kept fits beside an object's other annotations. The API server takes 256 KiB of them together
/// (`apimachinery pkg/api/validation/objectmeta.go`). Where nothing is kept, the size is the user's own matter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AnnotationBudget {
    /// A quarter of the room is left, or more.
    Well,
    /// Less than a quarter is left: some more fields, or annotations of others, and it would not fit.
    Barely,
    /// It was left out, and the object has the mark of that.
    Not,
}

impl AnnotationBudget {
    /// Of annotations that take so many bytes.
    pub(super) fn of(size: usize) -> Self {
        match size {
            0..=ROOMY => Self::Well,
            _ if size <= BUDGET => Self::Barely,
            _ => Self::Not,
        }
    }
}

/// What the API server allows for all keys and values of an object's annotations together, in bytes
/// (`apimachinery pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`).
pub(crate) const BUDGET: usize = LONGEST;

/// Up to here, in bytes, there is room enough.
pub(super) const ROOMY: usize = BUDGET / 4 * 3;
