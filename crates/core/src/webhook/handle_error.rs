//! Errors of requests that get no review.

use super::caller::ClientDisconnected;
use super::facts::FactUnknown;
use super::review::BadReview;

/// Why a request gets no review.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The body is no valid review.
    #[error(transparent)]
    BadReview(#[from] BadReview),
    /// The client has disconnected: see [`Request::while_awaited`](super::Request::while_awaited).
    #[error("the client has disconnected")]
    ClientDisconnected,
    /// A fact is unknown. The client can retry.
    #[error("{0}, try again")]
    FactUnknown(FactUnknown),
}

impl From<ClientDisconnected> for HandleError {
    fn from(_: ClientDisconnected) -> Self {
        Self::ClientDisconnected
    }
}
