//! What is known of facts that others follow, for metrics.

use std::fmt;
use std::sync::Arc;

/// Says what is known of facts. Called whenever somebody reads the metrics; it must not wait for anything.
#[derive(Clone)]
pub struct FollowedFacts(Arc<dyn Fn() -> Vec<FollowedFact> + Send + Sync>);

/// What is known of the facts that one resource says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FollowedFact {
    /// The resource, as kubectl takes it: what a definition names, and no client.
    pub resource: String,
    /// Something is known, so that decisions can be made.
    pub is_known: bool,
    /// Of how many objects one of the facts is true.
    pub objects: u64,
    /// How often reading or watching it failed, since the start.
    pub failures: u64,
    /// When the API server was last heard, in seconds since the epoch; 0 for never.
    pub heard: u64,
}

impl FollowedFacts {
    /// Wraps a function that says it.
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
