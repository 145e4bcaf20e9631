//! Bodies that cannot be answered with a review.

/// A body that is no review, or one without a uid to answer to: HTTP 400 with a `v1 Status` (see
/// [`refusal`](crate::webhook::refusal)).
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReview {
    /// The body is JSON, but no review that could be answered.
    #[error("{reason}")]
    NoReview {
        /// What is missing or other than expected.
        reason: String,
    },
    /// The body is not JSON.
    #[error("request body is not JSON: {reason}")]
    NotJson {
        /// Where and what.
        reason: String,
    },
}
