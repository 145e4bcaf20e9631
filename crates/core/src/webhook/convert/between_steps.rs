//! What the steps of a conversion over several versions have to tell each other, such as which objects they made.
//!
//! Both versions of each of two steps have `spec.backup`. The first step moves all that it can say of it elsewhere, the
//! second keeps the rest:
//!
//! ```text
//! v3  spec: {backup: {days: 3, legacy: y}}
//! v2  spec: {backup: {days: 3}}               kept-v3: spec.backup.legacy
//! v1  spec: {backup: {}, days: 3}             kept-v3: spec.backup.legacy
//! ```
//!
//! At v1 the object stays, although nothing is left in it, because something waits for it. Who removes it there removes
//! `legacy`, too: v2 has to make the object anew for `days`, and one that was made on the way gets nothing back.

use super::kept::Kept;
use super::pieces::{Pieces, Presence};
use crate::definition::frontier::{Frontier, Held};

/// What is known of an object on its way through the steps. What a step reads and writes between two others is what the
/// API server would have stored there: a way of several steps is one step after the other.
#[derive(Default)]
pub(super) struct BetweenSteps {
    /// It was sparse in a version on the way, and so it is in all behind that: what a later version requires less of is
    /// not whole for that.
    pub(super) sparse: bool,
    /// It was sparse in a version behind the next one, where it is going. So it is when it comes back from there.
    pub(super) sparse_behind: bool,
    /// There is a step behind the next one.
    pub(super) goes_on: bool,
    /// Objects that the steps before made of nothing, as paths: nobody who wrote the version where the way starts had
    /// them.
    pub(super) made: Vec<String>,
    /// What waits, on the way home, for versions behind the one that the next step writes, where that is another thing
    /// than what waits there now.
    pub(super) waiting_at_home: Option<Vec<String>>,
    /// An object was expected to stay on the way home for what waits in it now, and for nothing else.
    pub(super) stays_for_waiting: bool,
    /// A change that waits for somebody was taken as completed.
    pub(super) staged: bool,
    /// The rollout hash of the object as it is now, where the last step had to calculate it.
    pub(super) hash: Option<String>,
}

/// Which objects hold something that waits in annotations. That something was not there waits for nothing, and what was
/// in an object that was `made` anew waits no longer.
pub(super) fn waiting(frontier: &Frontier, annotations: &[Kept<'_>], made: &[String]) -> Vec<bool> {
    if annotations.is_empty() {
        return Vec::new();
    }
    let is_gone = |id: &str| made.iter().any(|made| id == made || is_inside(id, made));
    let waits = |held: &Held| {
        let is_meant =
            |id: &str, is_holder: bool| (is_inside(id, &held.id) || is_holder && id == held.id) && !is_gone(id);
        annotations.iter().any(|kept| kept.fields.wait_at(&is_meant))
    };
    frontier.holders.iter().map(waits).collect()
}

fn is_inside(id: &str, holder: &str) -> bool {
    id.strip_prefix(holder).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Which holders were made of nothing by the steps before.
pub(super) fn made(frontier: &Frontier, before: &[String]) -> Vec<bool> {
    if before.is_empty() {
        return Vec::new();
    }
    let mut made: Vec<bool> = Vec::with_capacity(frontier.holders.len());
    for held in &frontier.holders {
        let outer = held.within.and_then(|within| made.get(within).copied()).unwrap_or_default();
        made.push(outer || before.contains(&held.id));
    }
    made
}

/// What was made of nothing, now or by the steps before.
pub(super) fn all_made(frontier: &Frontier, from: &Pieces<'_>, to: &Pieces<'_>, before: &[String]) -> Vec<String> {
    let mut made = before.to_vec();
    note_made(frontier, from, to, &mut made);
    made
}

/// Notes what was made of nothing, and forgets what is another object by now.
pub(super) fn note_made(frontier: &Frontier, from: &Pieces<'_>, to: &Pieces<'_>, made: &mut Vec<String>) {
    made.retain(|id| !frontier.cuts.iter().any(|cut| *id == cut.id || is_inside(id, &cut.id)));
    for (index, held) in frontier.holders.iter().enumerate() {
        if from.holder(index) != Presence::Object && to.holder(index) == Presence::Object && !made.contains(&held.id) {
            made.push(held.id.clone());
        }
    }
}
