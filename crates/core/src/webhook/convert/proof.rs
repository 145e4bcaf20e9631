//! Validation of kept values. Other clients may write annotations, so an entry is not trusted by itself.
//!
//! A kept value is restored only if its conversion gives the current value of the object. So a forged entry cannot show
//! a value in one version that another version does not show:
//!
//! ```text
//! v2  container: good     kept-v1: spec.image = {value: evil, became: good}
//! v1  image: good         `evil` becomes `evil`, not `good`: the entry does not count
//! ```
//!
//! Defaults of the API server or the definition differ between versions without any edit. An entry between two defaults
//! is valid too, because its writer cannot choose the value.

use smallvec::SmallVec;

use super::bit_set::BitSet;
use super::cut::split;
use super::kept::{filled, same, same_when_filled};
use super::pieces::Pieces;
use super::projection::{Projected, Projection, kinds, mapped};
use crate::definition::frontier::Part;
use crate::definition::{Fragment, Operation, Place, Side};
use crate::json::Json;

/// The projection whose kept values are checked.
pub(super) struct EntryProof<'c, 'a>(pub(super) Projection<'c, 'a>);

impl<'a> EntryProof<'_, 'a> {
    /// The operations with restored values that are not valid.
    pub(super) fn unproven(&self, from: &Pieces<'a>, crossed: &Projected<'a>) -> BitSet {
        let frontier = &self.0.level.frontier;
        let mut unproven = BitSet::new();
        for (index, operation) in self.0.level.operations.iter().enumerate() {
            if crossed.given_back.contains(index) {
                let values = crossed.pieces.of(frontier, self.0.to, index);
                let now = from.of(frontier, self.0.to.other(), index);
                let open = self.not_blocked(index, from);
                unproven.insert_if(index, !self.is_proven((index, operation), values, (now, &open)));
            }
        }
        unproven
    }

    /// Returns whether each place of an operation can have a value, on the side that is read. Empty if all places can.
    fn not_blocked(&self, index: usize, from: &Pieces<'a>) -> SmallVec<[bool; 2]> {
        let (frontier, side) = (&self.0.level.frontier, self.0.to.other());
        if !frontier.has_schemaless {
            return SmallVec::new();
        }
        let slots = match frontier.slots.of(side).get(index..index + 2) {
            Some([first, end]) => *first..*end,
            _ => 0..0,
        };
        let is_open = |slot| !from.is_blocked(frontier, frontier.cut(side, slot).and_then(|cut| cut.holder));
        slots.map(is_open).collect()
    }

    /// Returns whether kept values of an operation are valid, given the current values `now`. `open`: whether a place
    /// can have a value. Empty if all can.
    fn is_proven(
        &self,
        (index, operation): (usize, &Operation),
        values: &[Option<Json<'a>>],
        (now, open): (&[Option<Json<'a>>], &[bool]),
    ) -> bool {
        let (to, source_side) = (self.0.to, self.0.to.other());
        let (here, there) = (operation.places.of(to), operation.places.of(source_side));
        let values = &*without_nulls(values, here);
        let replaces = |values: &[Option<Json<'a>>]| {
            let mut replaces = self.0.mapped((index, operation), source_side, values);
            for (value, _) in replaces.iter_mut().zip(open).filter(|(_, open)| !**open) {
                *value = None;
            }
            // A field of several without a result has the value of the definition.
            for ((value, place), now) in replaces.iter_mut().zip(there).zip(now).filter(|_| there.len() > 1) {
                let fill = place.fill.as_ref().and_then(|fill| fill.value(self.0.namespace));
                if value.is_none() && fill.is_some_and(|fill| now.as_ref().is_some_and(|now| now.same(&fill))) {
                    value.clone_from(now);
                }
            }
            match operation.items() {
                // Each item validates its own entries. An absent list maps to one without items.
                Some(_) => kinds(&replaces).eq(kinds(now)) && now.iter().flatten().all(is_bare),
                // If no value results from the mapping, the current values may be defaults, including an object around
                // them.
                None => {
                    let is_nothing = replaces.iter().all(Option::is_none);
                    is_what(&replaces, now, there) || is_nothing && self.are_made((index, source_side), now, there)
                }
            }
        };
        // The value of an operation that ran although its condition does not hold.
        let ran = || self.0.idle.contains(index) && is_what(&mapped(operation, source_side, values), now, there);
        replaces(values)
            || source_side == Side::Newer && ran()
            || filled(values, here).is_some_and(|filled| replaces(&filled))
            // The same value in another spelling, such as -0 and 0.
            || same(&mapped(operation, to, now), values)
            || self.are_made((index, to), values, here) && self.are_made((index, source_side), now, there)
    }

    /// Returns whether each value of an operation on a side is absent or a default.
    fn are_made(&self, (index, side): (usize, Side), values: &[Option<Json<'_>>], places: &[Place]) -> bool {
        let first = self.0.level.frontier.slots.of(side).get(index).copied().unwrap_or_default();
        values.iter().zip(places).zip(first..).all(|((value, place), slot)| {
            value.as_ref().is_none_or(|value| {
                let is_it = |made: &Json<'_>| made.same(value);
                place.fill.as_ref().and_then(|fill| fill.value(self.0.namespace)).is_some_and(|fill| is_it(&fill))
                    || place.fill_by_default().is_some_and(|default| is_it(&default))
                    || self.is_made_with_its_object((slot, side), value)
            })
        })
    }

    /// Returns whether the default of a parent object sets a slot to this value.
    fn is_made_with_its_object(&self, (slot, side): (usize, Side), value: &Json<'_>) -> bool {
        let frontier = &self.0.level.frontier;
        let slots = frontier.slots.of(side).last().copied().unwrap_or_default();
        let puts = |part: &Part, made: &Json<'_>| {
            let mut found = vec![None; slots];
            split(part, Some(made.view()), &mut found, &String::new).is_ok()
                && found.get(slot).and_then(Option::as_ref).is_some_and(|found| found.same(value))
        };
        let of_both = frontier.holders.iter().filter_map(|holder| holder.fills.of(side).as_ref());
        let mut of_both = of_both.flat_map(|made| &made.cuts);
        let puts_cut = |(cut, made): &(usize, Json<'static>)| {
            frontier.cuts.get(*cut).is_some_and(|cut| puts(cut.parts.of(side), made))
        };
        let puts_inside = |cut: &crate::definition::frontier::SplitPoint| {
            let mut fills = cut.fills.of(side).iter();
            fills.any(|(path, made)| cut.parts.of(side).at(path).is_some_and(|part| puts(part, made)))
        };
        of_both.any(puts_cut) || frontier.cuts.iter().any(puts_inside)
    }
}

/// The values as the API server stores them: without nulls that the schema does not allow.
fn without_nulls<'v>(values: &[Option<Json<'v>>], at: &[Place]) -> Fragment<'v> {
    let stays = |(value, place): (&Option<Json<'v>>, &Place)| {
        value.clone().filter(|value| !value.is_null() || place.schema.can_be_null())
    };
    values.iter().zip(at).map(stays).collect()
}

/// Returns whether a list or map has no items.
fn is_bare(value: &Json<'_>) -> bool {
    value.is_null() || ["[]", "{}"].iter().any(|empty| Json::Text((*empty).into()).same(value))
}

/// Returns whether values equal the current values, apart from defaults.
fn is_what(values: &[Option<Json<'_>>], now: &[Option<Json<'_>>], at: &[Place]) -> bool {
    same(values, now) || same_when_filled(values, now, at)
}
