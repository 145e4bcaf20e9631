//! Why a request gets no review.

use super::facts::FactUnknown;
use super::review::BadReview;

/// Why a request gets no review: it is none that could be answered, or it cannot be answered yet.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// It is none.
    #[error(transparent)]
    BadReview(#[from] BadReview),
    /// The same request may be answered in a moment.
    #[error("{0}, try again")]
    FactUnknown(FactUnknown),
}
