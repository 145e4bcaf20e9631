//! Where the objects of a step are, for one object of a rollout.

use super::other_cluster::OtherCluster;
use crate::definition::StepPlace;

/// Where objects are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ResolvedLocation {
    pub(super) cluster: Option<OtherCluster>,
    /// Nothing for those that are in none, and for those of all.
    pub(super) namespace: Option<String>,
}

impl ResolvedLocation {
    /// The place of a step, in whose texts names are filled in.
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
