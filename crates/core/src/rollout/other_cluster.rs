//! Another cluster than the one that a rollout is in.

use std::fmt;

/// Another cluster, by the Secret in the cluster of the rollout that holds its kubeconfig.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct OtherCluster {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub secret: String,
    /// The key of its data.
    pub key: String,
}

/// As people call it: `the cluster of secret namespace/name`.
impl fmt::Display for OtherCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cluster of secret {}/{}", self.namespace, self.secret)
    }
}
