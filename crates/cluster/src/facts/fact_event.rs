//! What is told of facts that are followed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pointsman_core::definition::WatchedFact;

use crate::call_error::CallError;

/// Of which objects, by namespace and name, a fact is true.
pub type FactState = Vec<(WatchedFact, Arc<BTreeSet<(String, String)>>)>;

/// Something about facts that are followed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FactEvent {
    /// Everything was read, or something changed: this is known now.
    Seen(FactState),
    /// The API server was heard, and nothing has changed.
    Heard,
    /// There are objects, and none of them can be the one that a stage asks for: they are in namespaces and the fact
    /// names none, or the other way round.
    Misplaced {
        /// The fact.
        fact: WatchedFact,
    },
    /// It could not be read or watched, and is tried again after a pause. What is known stays known meanwhile.
    Failed {
        /// What stands in the way.
        error: CallError,
        /// How long it is left alone.
        pause: Duration,
    },
}
