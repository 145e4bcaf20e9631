//! References to other clusters.

use std::fmt;

/// Another cluster, by the Secret with its kubeconfig in the cluster of the rollout.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct OtherCluster {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Key in its data.
    pub key: String,
}

/// For messages: `the cluster of secret namespace/name`.
impl fmt::Display for OtherCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cluster of secret {}/{}", self.namespace, self.secret)
    }
}
