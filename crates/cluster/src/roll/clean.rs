//! Takes away what a roll has left behind.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetMove, FleetRoll, RollAnswers, RollStatus, answered_roll, made_question, unmarked};
use serde_json::Value;

use super::beside::write_beside;
use super::elsewhere::Elsewhere;
use super::error::RollError;
use super::fleet::Fleet;
use super::freeze::thaw;
use super::lookups::{Compiled, look_up_more};
use super::store::get_roll;
use super::writes::{Landed, Really, write};
use crate::cluster::Cluster;

/// What a roll had left, and has left no more.
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

/// Takes the annotation of a roll that is over off its objects, and off what they have become, by one write each, and
/// away what freezes for it. What it still holds it lets go first, by another one. Nobody can take them back then.
/// Returns what there was.
///
/// # Errors
/// [`RollError`], such as a roll that is not over.
pub async fn clean_roll(cluster: &Cluster, kind: &Kind, name: &str) -> Result<Cleaned, RollError> {
    let document = get_roll(cluster, name).await?;
    let status = RollStatus::of(&document);
    if !status.is_over() && status.started.is_some() {
        return Err(RollError::NotOver { name: name.to_owned(), phase: format!("{:?}", status.phase) });
    }
    let roll = answered_roll(&document, kind)?;
    let mut fleet = Fleet::list(cluster, kind, &roll, &status).await?;
    let mut let_go = 0;
    let held: Vec<FleetMove> = fleet.objects.iter().filter_map(|object| FleetMove::let_go(&roll, object)).collect();
    for one in held {
        if let Some(now) = written(write(cluster, &fleet, &one, Really::Write).await?, &one.title())? {
            fleet.wrote(&now, &roll);
            let_go += 1;
        }
    }
    let mut cleaned = 0;
    for one in fleet.objects.iter().filter_map(|object| FleetMove::clean(&roll, object)) {
        let landed = write(cluster, &fleet, &one, Really::Write).await?;
        cleaned += usize::from(written(landed, &one.title())?.is_some());
    }
    let made = clean_made(cluster, kind, &roll, &fleet).await;
    let thawed = thaw(cluster, &roll).await?;
    made.map(|made| Cleaned { objects: cleaned + made, let_go, thawed })
}

/// The same of what its objects have become.
async fn clean_made(cluster: &Cluster, kind: &Kind, roll: &FleetRoll, fleet: &Fleet) -> Result<usize, RollError> {
    let Some(question) = made_question(roll) else { return Ok(0) };
    let mut answers = RollAnswers::default();
    look_up_more(cluster, Compiled { kind, staged: &[] }, &[question], &mut answers).await?;
    let (mut cleaned, mut elsewhere, mut failed) = (0, Elsewhere::default(), None);
    for one in unmarked(roll, &fleet.objects, &answers).map_err(RollError::Asked)? {
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
fn written(landed: Landed, title: &str) -> Result<Option<Box<Value>>, RollError> {
    match landed {
        Landed::Written(now) => Ok(Some(now)),
        Landed::Stale => Ok(None),
        Landed::Refused(why) | Landed::NotYet(why) => Err(RollError::Asked(format!("{title}: {why}"))),
        Landed::Later(error) => Err(error.into()),
    }
}
