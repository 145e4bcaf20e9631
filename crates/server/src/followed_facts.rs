//! The state of followed facts, for metrics.

use std::fmt;
use std::sync::Arc;

/// Returns the state of facts. Called at each scrape; must not block.
#[derive(Clone)]
pub struct FollowedFacts(Arc<dyn Fn() -> Vec<FollowedFact> + Send + Sync>);

/// The state of the facts of one resource.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FollowedFact {
    /// The resource, as in kubectl, from a definition and never from a client.
    pub resource: String,
    /// True if the facts are known, so that decisions are possible.
    pub is_known: bool,
    /// The number of objects with which one of the facts is true.
    pub objects: u64,
    /// The number of failed lists and watches, since the start.
    pub failures: u64,
    /// The last response of the API server, in seconds since the epoch; 0 for never.
    pub last_contact: u64,
}

impl FollowedFacts {
    /// Wraps a function that returns the state.
    #[must_use]
    pub fn new(known: impl Fn() -> Vec<FollowedFact> + Send + Sync + 'static) -> Self {
        Self(Arc::new(known))
    }

    pub(super) fn known(&self) -> Vec<FollowedFact> {
        (self.0)()
    }
}

impl fmt::Debug for FollowedFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedFacts").finish_non_exhaustive()
    }
}
