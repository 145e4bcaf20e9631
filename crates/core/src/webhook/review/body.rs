//! Bodies that cannot get a review as response.

/// A body that is no review, or a review without a uid: HTTP 400 with a `v1 Status` (see
/// [`refusal`](crate::webhook::refusal)).
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReview {
    /// The body is JSON, but no valid review.
    #[error("{reason}")]
    NoReview {
        /// The missing or invalid member.
        reason: String,
    },
    /// The body is not JSON.
    #[error("request body is not JSON: {reason}")]
    NotJson {
        /// The location and the error.
        reason: String,
    },
}
