//! The location of a step's objects, for one object of a rollout.

use super::other_cluster::OtherCluster;
use crate::definition::StepPlace;

/// A location of objects.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ResolvedLocation {
    pub(super) cluster: Option<OtherCluster>,
    /// `None` for cluster-scoped objects, and for all namespaces.
    pub(super) namespace: Option<String>,
}

impl ResolvedLocation {
    /// Resolves the location of a step with expanded placeholders.
    pub(super) fn of(place: &StepPlace, fill: &dyn Fn(&str) -> String) -> Self {
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
