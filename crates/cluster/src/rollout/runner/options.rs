//! Options of runners.

use pointsman_core::definition::MutatedKind;
use pointsman_rollout::HttpAddress;

/// Options of runners.
#[derive(Clone, Debug)]
pub struct RolloutOptions {
    /// Ends when the rollout only waits for others.
    pub once: bool,
    /// The identity of this process, unique at any time.
    pub holder: String,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The Prometheus of the cluster, for checks that use it.
    pub prometheus: Option<HttpAddress>,
    /// Definitions with mutations, for steps that wait for one.
    pub mutated: Vec<MutatedKind>,
}
