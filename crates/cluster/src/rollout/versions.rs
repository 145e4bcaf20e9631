//! The running versions in a cluster.

use pointsman_core::definition::Kind;
use pointsman_rollout::{LookupResults, RunningVersions};

use super::error::RolloutError;
use super::fleet::list_objects;
use super::lookups::{Compiled, perform_lookups};
use crate::cluster::Cluster;
use crate::pages::items;

/// Reads every object of a kind, and other objects that contain their running versions. Read-only.
///
/// # Errors
/// [`RolloutError`].
pub async fn running_versions<'k>(cluster: &Cluster, kind: &'k Kind) -> Result<RunningVersions<'k>, RolloutError> {
    let mut answers = LookupResults::default();
    let known = Compiled { kind, mutated: &[] };
    perform_lookups(cluster, known, &RunningVersions::lookups(kind), &mut answers).await?;
    let mut running = RunningVersions::with_lookups(kind, answers);
    let read_in = |stored: &str, served: &[&str]| RunningVersions::read_in(kind, stored, served);
    list_objects(cluster, kind, &read_in, &mut |page| items(page).for_each(|object| running.see(object))).await?;
    Ok(running)
}
