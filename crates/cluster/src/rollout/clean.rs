//! Takes away what a rollout has left behind.

use pointsman_core::definition::Kind;
use pointsman_core::rollout::{
    ObjectPatch, Rollout, LookupResults, RolloutStatus, answered_rollout, made_question, unmarked,
};
use serde_json::Value;

use super::object_steps::write_beside;
use super::remote_lookups::RemoteLookups;
use super::error::RolloutError;
use super::fleet::Fleet;
use super::freeze::thaw;
use super::lookups::{Compiled, look_up_more};
use super::status_store::get_rollout;
use super::writes::{WriteOutcome, WriteMode, write};
use crate::cluster::Cluster;

/// What a rollout had left, and has left no more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cleaned {
    /// Objects with an annotation.
    pub objects: usize,
    /// Objects that were held.
    pub let_go: usize,
    /// Whether something was frozen.
    pub thawed: bool,
}

impl Cleaned {
    /// Whether there was nothing.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self.objects == 0 && self.let_go == 0 && !self.thawed
    }
}

/// Takes the annotation of a rollout that is over off its objects, and off what they have become, by one write each,
/// and away what freezes for it. What it still holds it lets go first, by another one. Nobody can take them back then.
/// Returns what there was.
///
/// # Errors
/// [`RolloutError`], such as a rollout that is not over.
pub async fn clean_rollout(cluster: &Cluster, kind: &Kind, name: &str) -> Result<Cleaned, RolloutError> {
    let document = get_rollout(cluster, name).await?;
    let status = RolloutStatus::of(&document);
    if !status.is_over() && status.started.is_some() {
        return Err(RolloutError::NotOver { name: name.to_owned(), phase: format!("{:?}", status.phase) });
    }
    let rollout = answered_rollout(&document, kind)?;
    let mut fleet = Fleet::list(cluster, kind, &rollout, &status).await?;
    let mut let_go = 0;
    let held: Vec<ObjectPatch> = fleet.objects.iter().filter_map(|object| ObjectPatch::let_go(&rollout, object)).collect();
    for one in held {
        if let Some(now) = written(write(cluster, &fleet, &one, WriteMode::Write).await?, &one.title())? {
            fleet.wrote(&now, &rollout);
            let_go += 1;
        }
    }
    let mut cleaned = 0;
    for one in fleet.objects.iter().filter_map(|object| ObjectPatch::clean(&rollout, object)) {
        let landed = write(cluster, &fleet, &one, WriteMode::Write).await?;
        cleaned += usize::from(written(landed, &one.title())?.is_some());
    }
    let made = clean_made(cluster, kind, &rollout, &fleet).await;
    let thawed = thaw(cluster, &rollout).await?;
    made.map(|made| Cleaned { objects: cleaned + made, let_go, thawed })
}

/// The same of what its objects have become.
async fn clean_made(
    cluster: &Cluster,
    kind: &Kind,
    rollout: &Rollout,
    fleet: &Fleet,
) -> Result<usize, RolloutError> {
    let Some(question) = made_question(rollout) else { return Ok(0) };
    let mut answers = LookupResults::default();
    look_up_more(cluster, Compiled { kind, mutated: &[] }, &[question], &mut answers).await?;
    let (mut cleaned, mut elsewhere, mut failed) = (0, RemoteLookups::default(), None);
    for one in unmarked(rollout, &fleet.objects, &answers).map_err(RolloutError::Asked)? {
        let landed = write_beside(cluster, &[], &mut elsewhere, &one).await?;
        match written(landed, &one.title()) {
            Ok(now) => cleaned += usize::from(now.is_some()),
            // One that somebody keeps as it is holds up no other.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(cleaned), Err)
}

/// What was written: the object as it is then; nothing where it is gone, or was written by somebody else.
fn written(landed: WriteOutcome, title: &str) -> Result<Option<Box<Value>>, RolloutError> {
    match landed {
        WriteOutcome::Written(now) => Ok(Some(now)),
        WriteOutcome::Stale => Ok(None),
        WriteOutcome::Refused(why) | WriteOutcome::NotYet(why) => Err(RolloutError::Asked(format!("{title}: {why}"))),
        WriteOutcome::Later(error) => Err(error.into()),
    }
}
