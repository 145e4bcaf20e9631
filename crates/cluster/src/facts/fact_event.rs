//! Events about followed facts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pointsman_core::definition::WatchedFact;

use crate::call_error::CallError;

/// For each fact, the objects with which it is true, by namespace and name.
pub type FactState = Vec<(WatchedFact, Arc<BTreeSet<(String, String)>>)>;

/// An event about followed facts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FactEvent {
    /// The current facts, after a list or a change.
    Seen(FactState),
    /// The API server responded without change.
    Unchanged,
    /// The observed objects cannot be those of the fact: they are namespaced and the fact has no namespace, or the
    /// reverse.
    Misplaced {
        /// The fact.
        fact: WatchedFact,
    },
    /// A list or watch failed, and is retried after a pause. Known facts remain meanwhile.
    Failed {
        /// The error.
        error: CallError,
        /// The pause.
        pause: Duration,
    },
}
