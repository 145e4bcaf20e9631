//! The interface between requests and decisions.

use pointsman_core::webhook::{Endpoint, HandleError, Reply, Request, weight};

/// Decides requests, without I/O, in time proportional to the body. May be called from several threads at once.
pub trait Decide: Send + Sync + 'static {
    /// Decides a request: see [`Webhook::handle`](pointsman_core::webhook::Webhook::handle).
    ///
    /// # Errors
    /// Why there is no review.
    fn handle(&self, request: &Request<'_>) -> Result<Reply, HandleError>;

    /// The memory of a decision about the body, in bytes.
    fn weight(&self, endpoint: Endpoint, body: &[u8]) -> u64 {
        weight(endpoint, body)
    }
}
