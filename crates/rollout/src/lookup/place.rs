//! The location of a step's objects, for one object of a rollout.

use super::other_cluster::OtherCluster;
use pointsman_core::definition::StepPlace;

/// A location of objects.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ResolvedLocation {
    pub(crate) cluster: Option<OtherCluster>,
    /// `None` for cluster-scoped objects, and for all namespaces.
    pub(crate) namespace: Option<String>,
}

impl ResolvedLocation {
    /// Resolves the location of a step with expanded placeholders.
    pub(crate) fn of(place: &StepPlace, fill: &dyn Fn(&str) -> String) -> Self {
        Self {
            namespace: place.namespace.as_deref().map(fill),
            cluster: place.cluster.as_ref().map(|cluster| OtherCluster {
                namespace: fill(&cluster.namespace),
                secret: fill(&cluster.name),
                key: cluster.key.clone(),
            }),
        }
    }
}
