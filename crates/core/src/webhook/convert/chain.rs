//! What the steps of a longer way have to tell each other: which objects are not what they seem.
//!
//! Both versions of each of two steps have `spec.backup`. The first step moves all that it can say of it elsewhere, the second
//! keeps the rest:
//!
//! ```text
//! v3  spec: {backup: {days: 3, legacy: y}}
//! v2  spec: {backup: {days: 3}}               kept-v3: spec.backup.legacy
//! v1  spec: {backup: {}, days: 3}             kept-v3: spec.backup.legacy
//! ```
//!
//! At v1 the object stays, although nothing is left in it, because something waits for it. So that who removes it there has
//! removed `legacy`, too: v2 has to make it anew for `days`, and an object that was made on the way gets nothing back.

use super::pieces::{Pieces, Presence};
use crate::definition::frontier::Frontier;
use crate::json::Json;

/// Notes which objects hold something that waits in annotations for versions behind the one that is read.
pub(super) fn note_waiting(frontier: &Frontier, from: &Pieces<'_>, waiting: &[String], others: &mut [bool]) {
    if waiting.is_empty() {
        return;
    }
    for ((index, held), others) in frontier.holders.iter().enumerate().zip(others) {
        if from.holder(index) == Presence::Object && held.within.is_some() {
            *others = *others || waiting.iter().any(|text| names_inside(text, &held.id));
        }
    }
}

/// Whether a text of kept fields has an entry for the inside of an object. A value may look like one: then an object stays
/// that could have gone.
fn names_inside(text: &str, id: &str) -> bool {
    let name = Json::string(id).to_text();
    let name = name.trim_end_matches('"');
    text.match_indices(name).any(|(at, _)| text.get(at + name.len()..).is_some_and(|rest| rest.starts_with(['.', '['])))
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

/// Notes what was made of nothing, and forgets what is another object by now.
pub(super) fn note_made(frontier: &Frontier, from: &Pieces<'_>, to: &Pieces<'_>, made: &mut Vec<String>) {
    let is_inside =
        |id: &str, of: &str| id.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    made.retain(|id| !frontier.cuts.iter().any(|cut| is_inside(id, &cut.id)));
    for (index, held) in frontier.holders.iter().enumerate() {
        if from.holder(index) != Presence::Object && to.holder(index) == Presence::Object && !made.contains(&held.id) {
            made.push(held.id.clone());
        }
    }
}
