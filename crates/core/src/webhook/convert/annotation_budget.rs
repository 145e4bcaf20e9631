//! The size budget of an object's annotations for kept values.

use super::kept::LONGEST;

/// How the kept values fit into an object's annotations. The API server allows 256 KiB in total (`apimachinery
/// pkg/api/validation/objectmeta.go`). Without kept values the size is not checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AnnotationBudget {
    /// At least a quarter of the budget is left.
    Well,
    /// Less than a quarter is left. A few more fields or annotations could exceed the budget.
    Barely,
    /// The kept values were omitted, and the object is marked as incomplete.
    Not,
}

impl AnnotationBudget {
    /// The budget for annotations of this size in bytes.
    pub(super) fn of(size: usize) -> Self {
        match size {
            0..=ROOMY => Self::Well,
            _ if size <= BUDGET => Self::Barely,
            _ => Self::Not,
        }
    }
}

/// The API server's limit for all keys and values of an object's annotations, in bytes (`apimachinery
/// pkg/api/validation/objectmeta.go`, `TotalAnnotationSizeLimitB`).
pub(crate) const BUDGET: usize = LONGEST;

/// Up to this size, in bytes, the annotations fit well.
pub(super) const ROOMY: usize = BUDGET / 4 * 3;
