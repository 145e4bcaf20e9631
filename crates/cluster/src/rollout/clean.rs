//! Removes traces of a rollout.

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    LookupResults, ObjectPatch, Rollout, RolloutStatus, annotation_removals, answered_rollout, replacements_lookup,
};
use serde_json::Value;

use super::error::RolloutError;
use super::fleet::Fleet;
use super::freeze::thaw;
use super::lookups::{Compiled, perform_lookups};
use super::object_steps::write_object;
use super::remote_lookups::RemoteLookups;
use super::status_store::get_rollout;
use super::writes::{WriteMode, WriteOutcome, write};
use crate::cluster::Cluster;

/// Removed traces of a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cleaned {
    /// Objects that had an annotation.
    pub objects: usize,
    /// Objects that were held.
    pub released: usize,
    /// True if a freeze was removed.
    pub thawed: bool,
}

impl Cleaned {
    /// True if there were no traces.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self.objects == 0 && self.released == 0 && !self.thawed
    }
}

/// Removes the annotations of a finished rollout from its objects and their replacements, by one write each, and its
/// freeze. Releases held objects first, by another write. Afterwards an undo is impossible. Returns the removed traces.
///
/// # Errors
/// [`RolloutError`], such as an unfinished rollout.
pub async fn clean_rollout(cluster: &Cluster, kind: &Kind, name: &str) -> Result<Cleaned, RolloutError> {
    let document = get_rollout(cluster, name).await?;
    let status = RolloutStatus::of(&document);
    if !status.is_over() && status.started.is_some() {
        return Err(RolloutError::NotOver { name: name.to_owned(), phase: format!("{:?}", status.phase) });
    }
    let rollout = answered_rollout(&document, kind)?;
    let mut fleet = Fleet::list(cluster, kind, &rollout, &status).await?;
    let mut released = 0;
    let held: Vec<ObjectPatch> =
        fleet.objects.iter().filter_map(|object| ObjectPatch::release(&rollout, object)).collect();
    for one in held {
        if let Some(now) = written(write(cluster, &fleet, &one, WriteMode::Write).await?, &one.title())? {
            fleet.wrote(&now, &rollout);
            released += 1;
        }
    }
    let mut cleaned = 0;
    for one in fleet.objects.iter().filter_map(|object| ObjectPatch::clean(&rollout, object)) {
        let landed = write(cluster, &fleet, &one, WriteMode::Write).await?;
        cleaned += usize::from(written(landed, &one.title())?.is_some());
    }
    let made = clean_made(cluster, kind, &rollout, &fleet).await;
    let thawed = thaw(cluster, &rollout).await?;
    made.map(|made| Cleaned { objects: cleaned + made, released, thawed })
}

/// The same for replacements.
async fn clean_made(cluster: &Cluster, kind: &Kind, rollout: &Rollout, fleet: &Fleet) -> Result<usize, RolloutError> {
    let Some(lookup) = replacements_lookup(rollout) else { return Ok(0) };
    let mut answers = LookupResults::default();
    perform_lookups(cluster, Compiled { kind, mutated: &[] }, &[lookup], &mut answers).await?;
    let (mut cleaned, mut elsewhere, mut failed) = (0, RemoteLookups::default(), None);
    for one in annotation_removals(rollout, &fleet.objects, &answers).map_err(RolloutError::Invalid)? {
        let landed = write_object(cluster, &[], &mut elsewhere, &one).await?;
        match written(landed, &one.title()) {
            Ok(now) => cleaned += usize::from(now.is_some()),
            // An object that cannot be written blocks no other.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(cleaned), Err)
}

/// The written object; `None` if it is deleted or changed by another client.
fn written(landed: WriteOutcome, title: &str) -> Result<Option<Box<Value>>, RolloutError> {
    match landed {
        WriteOutcome::Written(now) => Ok(Some(now)),
        WriteOutcome::Stale => Ok(None),
        WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => Err(RolloutError::Invalid(format!("{title}: {why}"))),
        WriteOutcome::Later(error) => Err(error.into()),
    }
}
