//! Takes away what a roll has left behind.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetMove, RollStatus, answered_roll};

use super::error::RollError;
use super::fleet::Fleet;
use super::freezing::thaw;
use super::store::get_roll;
use super::writes::{Landed, Really, write};
use crate::cluster::Cluster;

/// Takes the annotation of a roll that is over off its objects, by one write each, and away what freezes for it.
/// Afterwards nobody can take them back. Returns how many.
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
    let fleet = Fleet::list(cluster, kind, &roll).await?;
    let mut cleaned = 0;
    for one in fleet.objects.iter().filter_map(|object| FleetMove::clean(&roll, object)) {
        match write(cluster, &fleet, &one, Really::Write).await? {
            Landed::Written(_) => cleaned += 1,
            // Gone, or taken off by somebody else.
            Landed::Stale => {}
            Landed::Refused(why) | Landed::NotYet(why) => {
                return Err(RollError::Asked(format!("{}: {why}", one.title())));
            }
            Landed::Later(error) => return Err(error.into()),
        }
    }
    thaw(cluster, &roll).await?;
    Ok(cleaned)
}
