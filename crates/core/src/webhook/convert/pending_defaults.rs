//! What a complete object lacks only because the API server has not filled it in yet, such as a manifest in a file.
//!
//! What comes home has it, and that is no other object: nothing has to be kept of it.

use super::projection::Projection;
use std::slice::from_ref;

use super::bit_set::BitSet;
use super::kept::identical;
use super::pieces::{Pieces, Presence};
use crate::definition::{Level, Place};
use crate::json::Json;

/// What the API server would fill in at one level of a complete object.
pub(super) struct PendingDefaults<'u, 'a> {
    home: Projection<'u, 'a>,
    /// Which objects it would make, just as they come home.
    made: BitSet,
    /// Which slots are in an object that is there.
    held: BitSet,
}

impl<'u, 'a> PendingDefaults<'u, 'a> {
    /// `back` is what comes home of an object.
    pub(super) fn new(home: Projection<'u, 'a>, from: &Pieces<'_>, back: &Pieces<'_>) -> Self {
        let frontier = &home.level.frontier;
        let mut unsaid = Self { home, made: BitSet::new(), held: from.held(frontier, home.to) };
        let is_new = |index| from.holder(index) == Presence::Absent && back.holder(index) != Presence::Absent;
        if !(0..frontier.holders.len()).any(is_new) {
            return unsaid;
        }
        for (index, holder) in frontier.holders.iter().enumerate() {
            let default = holder.fills.of(home.to).as_ref().filter(|_| is_new(index) && from.is_held(holder.within));
            let is_default = default.is_some_and(|made| home.is_as_made(index, made, back));
            let is_made = is_default || is_new(index) && unsaid.is_made(holder.within);
            unsaid.made.insert_if(index, is_made);
        }
        unsaid
    }

    /// Whether the API server would make an object, and all that comes home in it.
    pub(super) fn is_made(&self, holder: Option<usize>) -> bool {
        holder.is_some_and(|holder| self.made.contains(holder))
    }

    /// Whether values of an operation that came home are other ones only for what it would fill in.
    pub(super) fn explains(
        &self,
        operation: usize,
        (was, back): (&[Option<Json<'_>>], &[Option<Json<'_>>]),
        places: &[Place],
    ) -> bool {
        let Projection { level: Level { frontier, .. }, to, .. } = self.home;
        let first = frontier.slots.of(to).get(operation).copied().unwrap_or_default();
        let mut values = was.iter().zip(back).zip(places).zip(first..);
        values.all(|(((was, now), place), slot)| {
            let fills = (place.required || place.fills_default()) && self.held.contains(slot);
            let is_made = || self.is_made(frontier.cut(to, slot).and_then(|cut| cut.holder));
            was.is_none() && now.is_some() && (fills || is_made()) || identical(from_ref(was), from_ref(now))
        })
    }
}
