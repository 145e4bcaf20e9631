//! What a complete object lacks only because the API server has not filled it in yet, such as a manifest in a file.
//!
//! What comes home has it, and that is no other object: nothing has to be kept of it.

use super::kept::identical;
use super::pieces::{Pieces, Presence};
use crate::definition::frontier::{Frontier, Part};
use crate::definition::{Place, Side};
use crate::json::Json;

/// What the API server would fill in at one level of a complete object.
#[derive(Default)]
pub(super) struct Unsaid {
    /// Which objects it would make, by their defaults or within one.
    holders: Vec<bool>,
    /// Which cuts the defaults of those name.
    cuts: Vec<bool>,
    /// The slots at these cuts.
    named: Vec<bool>,
    /// Which slots are in an object that is there, or that it would make.
    held: Vec<bool>,
}

impl Unsaid {
    /// `back` is what comes home to the side that was read.
    pub(super) fn new(frontier: &Frontier, side: Side, from: &Pieces<'_>, back: &Pieces<'_>) -> Self {
        let mut unsaid = Self { held: from.held(frontier, side), ..Self::default() };
        let is_new = |index| from.holder(index) == Presence::Absent && back.holder(index) != Presence::Absent;
        if (0..frontier.holders.len()).any(is_new) {
            unsaid.make(frontier, side, from, &is_new);
        }
        unsaid
    }

    fn make(&mut self, frontier: &Frontier, side: Side, from: &Pieces<'_>, is_new: &dyn Fn(usize) -> bool) {
        self.cuts.resize(frontier.cuts.len(), false);
        self.named.resize(self.held.len(), false);
        for (index, holder) in frontier.holders.iter().enumerate() {
            let default = holder.fills.of(side).as_ref().filter(|_| is_new(index) && from.is_held(holder.within));
            for (cut, _) in default.iter().flat_map(|default| &default.cuts) {
                set(&mut self.cuts, *cut);
            }
            let is_made = default.is_some() || is_new(index) && self.is_made(holder.within);
            self.holders.push(is_made);
        }
        for (index, cut) in frontier.cuts.iter().enumerate() {
            let is_named = self.is_named(index);
            let is_held = matches!(cut.parts.of(side), Part::Slot(_)) && self.is_made(cut.holder);
            cut.parts.of(side).any(&mut |slot| {
                if is_named {
                    set(&mut self.named, slot);
                }
                if is_held {
                    set(&mut self.held, slot);
                }
                false
            });
        }
    }

    /// Whether the API server would make an object.
    pub(super) fn is_made(&self, holder: Option<usize>) -> bool {
        holder.is_some_and(|holder| self.holders.get(holder) == Some(&true))
    }

    /// Whether it would make one with something at a cut.
    pub(super) fn is_named(&self, cut: usize) -> bool {
        self.cuts.get(cut) == Some(&true)
    }

    /// Whether values that came home are other ones only for what it would fill in. `first` is the slot of the first.
    pub(super) fn explains(
        &self,
        first: usize,
        (was, back): (&[Option<Json<'_>>], &[Option<Json<'_>>]),
        places: &[Place],
    ) -> bool {
        let mut values = was.iter().zip(back).zip(places).zip(first..);
        values.all(|(((was, now), place), slot)| {
            let fills = (place.required || place.fills_default()) && self.held.get(slot) == Some(&true);
            let is_new = was.is_none() && now.is_some();
            is_new && (fills || self.named.get(slot) == Some(&true))
                || identical(std::slice::from_ref(was), std::slice::from_ref(now))
        })
    }
}

fn set(marks: &mut [bool], at: usize) {
    if let Some(mark) = marks.get_mut(at) {
        *mark = true;
    }
}
