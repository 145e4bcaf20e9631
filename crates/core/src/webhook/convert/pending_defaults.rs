//! Defaults that a complete object lacks only because the API server has not filled them in yet, such as in a manifest
//! file.
//!
//! The conversion back returns the object with these defaults. That is no difference, so no value is kept.

use super::projection::Projection;
use std::slice::from_ref;

use super::bit_set::BitSet;
use super::kept::identical;
use super::pieces::{Pieces, Presence};
use crate::definition::{Level, Place};
use crate::json::Json;

/// The defaults of the API server at one level of a complete object.
pub(super) struct PendingDefaults<'u, 'a> {
    reverse: Projection<'u, 'a>,
    /// The objects that the API server would create exactly as the conversion back does.
    made: BitSet,
    /// The slots in existing objects.
    held: BitSet,
}

impl<'u, 'a> PendingDefaults<'u, 'a> {
    /// `back` is the result of the conversion back.
    pub(super) fn new(reverse: Projection<'u, 'a>, from: &Pieces<'_>, back: &Pieces<'_>) -> Self {
        let frontier = &reverse.level.frontier;
        let mut unsaid = Self { reverse, made: BitSet::new(), held: from.held(frontier, reverse.to) };
        let is_new = |index| from.holder(index) == Presence::Absent && back.holder(index) != Presence::Absent;
        if !(0..frontier.holders.len()).any(is_new) {
            return unsaid;
        }
        for (index, holder) in frontier.holders.iter().enumerate() {
            let default = holder.fills.of(reverse.to).as_ref().filter(|_| is_new(index) && from.is_held(holder.within));
            let is_default = default.is_some_and(|made| reverse.is_as_made(index, made, back));
            let is_made = is_default || is_new(index) && unsaid.is_made(holder.within);
            unsaid.made.insert_if(index, is_made);
        }
        unsaid
    }

    /// Returns whether the API server would create an object with the same contents as the conversion back.
    pub(super) fn is_made(&self, holder: Option<usize>) -> bool {
        holder.is_some_and(|holder| self.made.contains(holder))
    }

    /// Returns whether the values of an operation differ after the conversion back only by defaults.
    pub(super) fn explains(
        &self,
        operation: usize,
        (was, back): (&[Option<Json<'_>>], &[Option<Json<'_>>]),
        places: &[Place],
    ) -> bool {
        let Projection { level: Level { frontier, .. }, to, .. } = self.reverse;
        let first = frontier.slots.of(to).get(operation).copied().unwrap_or_default();
        let mut values = was.iter().zip(back).zip(places).zip(first..);
        values.all(|(((was, now), place), slot)| {
            let fills = (place.required || place.fills_default()) && self.held.contains(slot);
            let is_made = || self.is_made(frontier.cut(to, slot).and_then(|cut| cut.holder));
            was.is_none() && now.is_some() && (fills || is_made()) || identical(from_ref(was), from_ref(now))
        })
    }
}
