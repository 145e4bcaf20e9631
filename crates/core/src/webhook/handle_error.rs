//! Why a request gets no review.

use super::caller::CallerGone;
use super::facts::FactUnknown;
use super::review::BadReview;

/// Why a request gets no review: it is none that could be answered, it cannot be answered yet, or nobody waits.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// It is none.
    #[error(transparent)]
    BadReview(#[from] BadReview),
    /// Nobody waits for the answer any more: see [`handle_while`](super::Webhook::handle_while).
    #[error("nobody waits for the answer any more")]
    CallerGone,
    /// The same request may be answered in a moment.
    #[error("{0}, try again")]
    FactUnknown(FactUnknown),
}

impl From<CallerGone> for HandleError {
    fn from(_: CallerGone) -> Self {
        Self::CallerGone
    }
}
