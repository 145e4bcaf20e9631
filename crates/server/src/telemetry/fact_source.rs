//! The state of followed facts, for metrics.

use std::fmt;
use std::sync::Arc;

/// Follows the facts of mutations.
pub trait FactSource: Send + Sync + 'static {
    /// The state of the facts, by resource. Called at each scrape; must not block.
    fn state(&self) -> Vec<FollowedFact>;
}

/// A shared source of facts.
#[derive(Clone)]
pub struct FollowedFacts(Arc<dyn FactSource>);

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
    /// Shares a source.
    #[must_use]
    pub fn new(source: impl FactSource) -> Self {
        Self(Arc::new(source))
    }

    pub(crate) fn state(&self) -> Vec<FollowedFact> {
        self.0.state()
    }
}

impl fmt::Debug for FollowedFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedFacts").finish_non_exhaustive()
    }
}
