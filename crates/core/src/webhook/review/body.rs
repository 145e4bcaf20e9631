//! The body of a request, and what it takes to answer it at all.

use crate::json::Json;

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

/// Reads a body as JSON, its outermost levels opened, or says where it stops being UTF-8 or JSON.
pub(crate) fn parse(body: &[u8], levels: usize) -> Result<Json<'_>, BadReview> {
    let text = std::str::from_utf8(body).map_err(|error| BadReview::NotJson { reason: error.to_string() })?;
    Json::parse_opened(text, levels).map_err(|error| BadReview::NotJson { reason: error.to_string() })
}
