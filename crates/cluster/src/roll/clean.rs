//! Takes away what a roll has left behind.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetMove, RollStatus, answered_roll};
use serde_json::Value;

use super::error::RollError;
use super::fleet::Fleet;
use super::freezing::thaw;
use super::store::get_roll;
use super::writes::{Landed, Really, write};
use crate::cluster::Cluster;

/// Takes the annotation of a roll that is over off its objects, by one write each, and away what freezes for it. What
/// it still holds it lets go first, by another one. Afterwards nobody can take them back. Returns how many.
///
/// # Errors
/// [`RollError`], such as a roll that is not over.
pub async fn clean_roll(cluster: &Cluster, kind: &Kind, name: &str) -> Result<usize, RollError> {
    let document = get_roll(cluster, name).await?;
    let status = RollStatus::of(&document);
    if !status.is_over() && status.started.is_some() {
        return Err(RollError::NotOver { name: name.to_owned(), phase: format!("{:?}", status.phase) });
    }
    let roll = answered_roll(&document, kind)?;
    let mut fleet = Fleet::list(cluster, kind, &roll).await?;
    let held: Vec<FleetMove> = fleet.objects.iter().filter_map(|object| FleetMove::let_go(&roll, object)).collect();
    for one in held {
        if let Some(now) = written(cluster, &fleet, &one).await? {
            fleet.wrote(&now, &roll);
        }
    }
    let mut cleaned = 0;
    for one in fleet.objects.iter().filter_map(|object| FleetMove::clean(&roll, object)) {
        cleaned += usize::from(written(cluster, &fleet, &one).await?.is_some());
    }
    thaw(cluster, &roll).await?;
    Ok(cleaned)
}

/// Writes an object. Returns it as it is then; nothing where it is gone, or was written by somebody else.
async fn written(cluster: &Cluster, fleet: &Fleet, one: &FleetMove) -> Result<Option<Box<Value>>, RollError> {
    match write(cluster, fleet, one, Really::Write).await? {
        Landed::Written(now) => Ok(Some(now)),
        Landed::Stale => Ok(None),
        Landed::Refused(why) | Landed::NotYet(why) => Err(RollError::Asked(format!("{}: {why}", one.title()))),
        Landed::Later(error) => Err(error.into()),
    }
}
