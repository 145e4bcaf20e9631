//! The projection of an object's pieces to the other side of a step.
//!
//! This module neither reads nor writes objects. So the same code computes three results: the converted object; the
//! conversion back without kept values; and, if that differs, the conversion back with kept values.

use smallvec::smallvec;

use super::bit_set::BitSet;
use super::cut::{is_remainder, split};
use super::kept::{KeptFields, ObjectBefore, identical, is_identical};
use super::pieces::{Pieces, Presence, is_natural};
use super::tree;
use crate::definition::frontier::{FilledObject, Part, SplitPoint};
use crate::definition::{ANYTHING, Fragment, Level, Operation, Place, Side, Sides};
use crate::json::Json;

/// A projection to one side of a step.
#[derive(Clone, Copy)]
pub(super) struct Projection<'c, 'a> {
    pub(super) level: &'a Level,
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that defaults are filled in for its readers.
    pub(super) complete: bool,
    /// The namespace of the object, if it has one.
    pub(super) namespace: Option<&'c str>,
    /// The objects that stay instead of being removed.
    pub(super) staying: RetainedState,
    /// The shared objects that stay in any case, because no kept value would restore them.
    pub(super) stuck: &'c BitSet,
    /// The shared objects that contain fields without an operation.
    pub(super) others: &'c BitSet,
    /// The slots of each side that pending values of a more distant version need.
    pub(super) needed: Sides<&'c [usize]>,
    /// The shared objects of a written side that contain pending values of a more distant version. They stay.
    pub(super) waiting: &'c Sides<BitSet>,
    /// The operations that do not run in the conversion to the newer version.
    pub(super) idle: &'c BitSet,
    /// The operations whose kept values are stale: converted back, they differ from the current values.
    pub(super) stale: &'c BitSet,
}

/// The objects that stay instead of being removed. Removing an object also discards its kept contents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RetainedState {
    /// No objects.
    None,
    /// Emptied objects that existed before, and objects that are empty here.
    Emptied,
    /// All objects.
    All,
}

/// The result of a projection.
pub(super) struct Projected<'a> {
    pub(super) pieces: Pieces<'a>,
    /// The operations with restored values.
    pub(super) given_back: BitSet,
    /// Whether an object stayed or was removed depending on the values of the conversion back. Other values may change
    /// that.
    pub(super) by_values: bool,
    /// Whether an object stayed only for pending values.
    pub(super) by_waiting: bool,
}

impl<'a> Projection<'_, 'a> {
    /// The projection back. `complete` is whether the object is complete there.
    pub(super) fn back(self, complete: bool) -> Self {
        Self { to: self.to.other(), complete, staying: RetainedState::None, stuck: &NOTHING, stale: &NOTHING, ..self }
    }

    /// Computes the projection of an object. `kept` are the kept values of the other side.
    pub(super) fn run(self, from: &Pieces<'a>, kept: &KeptFields<'a>) -> Projected<'a> {
        let frontier = &self.level.frontier;
        let slots = frontier.slots.of(self.to).last().copied().unwrap_or_default();
        let mut pieces = Pieces::new(0, frontier.holders.len());
        pieces.slots.reserve(slots);
        let mut given_back = BitSet::new();
        for (index, operation) in self.level.operations.iter().enumerate() {
            let read = from.of(frontier, self.to.other(), index);
            let returned = self.returned(index, operation, from, kept);
            given_back.insert_if(index, returned.is_some());
            pieces.slots.extend(returned.unwrap_or_else(|| match self.runs_again((index, operation), read, kept) {
                true => mapped(operation, self.to, read),
                false => self.mapped((index, operation), self.to, read),
            }));
        }
        if !kept.is_empty() {
            self.give_rests_back(from, kept, &mut pieces);
        }
        self.clear_blocked(from, &mut pieces);
        let (by_values, by_waiting) = self.settle_holders(from, kept, &mut pieces);
        if self.complete && *frontier.fills.of(self.to) {
            self.fill(from, kept, &given_back, &mut pieces);
        }
        // Drops remainders that now follow from the values.
        let Pieces { slots, rests, .. } = &mut pieces;
        rests.retain(|cut, rest| {
            let cut = frontier.cuts.get(*cut);
            cut.is_none_or(|cut| !is_natural(cut.parts.of(self.to), Some(rest), slots))
        });
        Projected { pieces, given_back, by_values, by_waiting }
    }

    /// The kept values of an operation if they can be restored: each value in an existing object, and with the JSON
    /// type of its field. The API server checks bounds and enums, which may change while objects are stored.
    pub(super) fn returned(
        self,
        index: usize,
        operation: &Operation,
        from: &Pieces<'a>,
        kept: &KeptFields<'a>,
    ) -> Option<Fragment<'a>> {
        if self.stale.contains(index) {
            return None;
        }
        let frontier = &self.level.frontier;
        let places = operation.places.of(self.to);
        let read = from.of(frontier, self.to.other(), index);
        let values = kept.value(&places.first()?.id, places.len(), (read, operation.places.of(self.to.other())))?;
        let unread = read.iter().all(Option::is_none);
        let first = frontier.slots.of(self.to).get(index).copied().unwrap_or_default();
        let fits = |(slot, (value, place)): (usize, (&Option<Json<'_>>, &Place))| {
            let Some(value) = value else { return true };
            let cut = frontier.cut(self.to, first + slot);
            // Items of a list are converted one by one. A kept list is ignored if the list exists.
            (operation.items().is_none() || value.is_null() || unread)
                && from.is_held(cut.and_then(|cut| cut.holder))
                && !cut.is_some_and(|cut| self.was_removed(cut, from, kept))
                && place.schema.has_types_of(value)
                && takes(place, value)
                // The API server does not remove null items.
                && (!value.is_null() || !place.path.is_empty() || place.schema.can_be_null())
        };
        // Absent kept values do not replace an object that contains pending values.
        let is_nothing = values.iter().flatten().all(Json::is_null);
        let here = frontier.slots.of(self.to.other()).get(index).copied().unwrap_or_default();
        let needed = self.needed.of(self.to.other()).iter().any(|slot| (here..here + read.len()).contains(slot));
        let fit = values.iter().zip(places).enumerate().all(fits);
        (fit && !(is_nothing && needed)).then_some(values)
    }

    /// Returns whether a client removed all visible fields of an object that only the version that is written has.
    fn was_removed(self, cut: &SplitPoint, from: &Pieces<'_>, kept: &KeptFields<'a>) -> bool {
        let shown = cut.shown.of(self.to.other());
        !shown.is_empty() && kept.is_seen(&cut.id) && !shown.iter().any(|slot| from.has(*slot))
    }

    /// Restores the remainders of objects that only the version that is written has.
    fn give_rests_back(self, from: &Pieces<'_>, kept: &KeptFields<'a>, pieces: &mut Pieces<'a>) {
        for (index, cut) in self.level.frontier.cuts.iter().enumerate() {
            let part = cut.parts.of(self.to);
            if matches!(part, Part::Slot(_)) {
                continue;
            }
            let Some(rest) = kept.rest(&cut.id) else { continue };
            // A version without the field prunes it, but the API server decodes its numbers before that.
            let typed = cut.schemas.of(self.to).as_ref().unwrap_or(&ANYTHING).has_types_of(&rest);
            let typed = typed && is_remainder(part, &rest, pieces.slots.len());
            // An object with contents is not null.
            let typed = typed && !(rest.is_null() && part.any(&mut |slot| pieces.has(slot)));
            // If all required fields are absent, the object was removed.
            let seen = cut.shown.of(self.to.other()).is_empty() && kept.is_seen(&cut.id);
            let removed = self.was_removed(cut, from, kept) || seen && !part.any(&mut |slot| pieces.has(slot));
            if typed && !removed && from.is_held(cut.holder) {
                pieces.rests.insert(index, rest);
            }
        }
    }

    /// Creates absent objects that receive a value, and removes emptied objects that the conversion back would create
    /// again. Returns whether the conversion back was consulted, and whether an object stayed for pending values.
    fn settle_holders(self, from: &Pieces<'_>, kept: &KeptFields<'a>, pieces: &mut Pieces<'_>) -> (bool, bool) {
        let frontier = &self.level.frontier;
        let (mut filled, mut cut_out) = (BitSet::new(), BitSet::new());
        for (index, cut) in frontier.cuts.iter().enumerate() {
            let Some(holder) = cut.holder else { continue };
            filled.insert_if(holder, pieces.has_cut(index, cut.parts.of(self.to)));
            cut_out.insert_if(holder, from.has_cut(index, cut.parts.of(self.to.other())));
        }
        let (mut returning, mut by_waiting) = (None, false);
        for (index, holder) in frontier.holders.iter().enumerate().rev() {
            let is_filled = filled.contains(index);
            let was_cut = cut_out.contains(index);
            let before = from.holder(index);
            let now = match before {
                Presence::Other => Presence::Other,
                _ if is_filled || self.others.contains(index) => Presence::Object,
                Presence::Object if self.waiting.of(self.to).contains(index) => {
                    by_waiting = true;
                    Presence::Object
                }
                Presence::Object => match self.object_before(index, kept).filter(|_| self.may_remove(index, was_cut)) {
                    Some(ObjectBefore::Absent) => Presence::Absent,
                    Some(ObjectBefore::Null) => Presence::Null,
                    Some(ObjectBefore::Empty) => Presence::Object,
                    None => {
                        let is_removed = was_cut
                            && self.staying == RetainedState::None
                            && !self.stuck.contains(index)
                            && holder.within.is_some()
                            && !holder.stays.of(self.to)
                            && returning.get_or_insert_with(|| self.returning(from, pieces)).contains(index);
                        if is_removed { Presence::Absent } else { Presence::Object }
                    }
                },
                other => other,
            };
            if let Some(place) = pieces.holders.get_mut(index) {
                *place = now;
            }
            let Some(within) = holder.within else { continue };
            // A null from a default is removed with its object.
            let is_made = now == Presence::Null && self.object_before(index, kept) == Some(ObjectBefore::Absent);
            filled.insert_if(within, now != Presence::Absent && !is_made);
            cut_out.insert_if(within, was_cut);
        }
        for (index, holder) in frontier.holders.iter().enumerate() {
            if pieces.holder(index) == Presence::Null
                && !pieces.is_held(holder.within)
                && let Some(place) = pieces.holders.get_mut(index)
            {
                *place = Presence::Absent;
            }
        }
        (returning.is_some(), by_waiting)
    }

    /// Removes values whose parent is no object, in a part without a schema.
    fn clear_blocked(self, from: &Pieces<'_>, pieces: &mut Pieces<'_>) {
        let frontier = &self.level.frontier;
        if !frontier.has_schemaless || !from.holders.contains(&Presence::Other) {
            return;
        }
        for (index, cut) in frontier.cuts.iter().enumerate().filter(|(_, cut)| from.is_blocked(frontier, cut.holder)) {
            pieces.rests.remove(&index);
            cut.parts.of(self.to).any(&mut |slot| {
                if let Some(place) = pieces.slots.get_mut(slot) {
                    *place = None;
                }
                false
            });
        }
    }

    /// The state of an object before values were put into it.
    fn object_before(self, holder: usize, kept: &KeptFields<'a>) -> Option<ObjectBefore> {
        kept.object_before(&self.level.frontier.holders.get(holder)?.id)
    }

    /// Returns whether an object may return to its state before values were put into it.
    fn may_remove(self, holder: usize, was_cut: bool) -> bool {
        match self.staying {
            RetainedState::None => !self.stuck.contains(holder),
            RetainedState::Emptied => was_cut,
            RetainedState::All => false,
        }
    }

    /// The shared objects that the conversion back creates again with all of their contents.
    fn returning(self, from: &Pieces<'_>, pieces: &Pieces<'_>) -> BitSet {
        let (frontier, source_side) = (&self.level.frontier, self.to.other());
        let (mut returns, mut keeps) = (BitSet::new(), BitSet::new());
        for (index, operation) in self.level.operations.iter().enumerate() {
            let back = self.mapped((index, operation), source_side, pieces.of(frontier, self.to, index));
            let alike = operation.items().is_some() || identical(&back, from.of(frontier, source_side, index));
            let first = frontier.slots.of(source_side).get(index).copied().unwrap_or_default();
            for (slot, value) in back.iter().enumerate() {
                let holder = frontier.cut(source_side, first + slot).and_then(|cut| cut.holder);
                for around in frontier.around(holder) {
                    returns.insert_if(around, value.is_some());
                    keeps.insert_if(around, !alike);
                }
            }
        }
        for cut in from.rests.keys().filter_map(|cut| frontier.cuts.get(*cut)) {
            frontier.around(cut.holder).for_each(|around| keeps.insert(around));
        }
        returns.without(&keeps)
    }

    /// Fills in defaults for readers of a complete object, in existing objects.
    fn fill(self, from: &Pieces<'a>, kept: &KeptFields<'a>, given_back: &BitSet, pieces: &mut Pieces<'a>) {
        let (frontier, source_side) = (&self.level.frontier, self.to.other());
        let mut made_here: Vec<usize> = Vec::new();
        for (index, holder) in frontier.holders.iter().enumerate() {
            if pieces.holder(index) != Presence::Absent || !pieces.is_held(holder.within) {
                continue;
            }
            match holder.fills.of(self.to) {
                Some(made) => {
                    self.fill_holder(index, made, pieces);
                    made_here.extend(made.objects.iter().chain([&index]));
                }
                // The object was created for a value that moved away, and its parent has other contents and requires
                // it.
                None if *holder.required.of(self.to) && from.holder(index) == Presence::Object => {
                    self.set_holder(index, Presence::Object, pieces);
                }
                None => {}
            }
        }
        for (index, cut) in frontier.cuts.iter().enumerate() {
            self.fill_objects(index, cut, (from, kept, given_back), pieces);
        }
        let (held_there, held_here) = (pieces.held(frontier, self.to), from.held(frontier, source_side));
        for (index, operation) in self.level.operations.iter().enumerate() {
            // A default of the version that was read is already present if its object exists. If the value is still
            // absent, the API server has not processed the object yet, and no conclusion is possible.
            let firsts = |side: Side| frontier.slots.of(side).get(index).copied().unwrap_or_default();
            let mut read = operation.places.of(source_side).iter().zip(firsts(source_side)..);
            let early =
                read.any(|(place, slot)| place.schema.default.is_some() && held_here.contains(slot) && !from.has(slot));
            if early {
                continue;
            }
            for ((at, place), slot) in operation.places.of(self.to).iter().enumerate().zip(firsts(self.to)..) {
                // Defaults of the API server and required fields are filled in for existing objects, even if kept as
                // absent.
                let holder = || frontier.cut(self.to, slot).and_then(|cut| cut.holder);
                // An object that the API server creates has the contents of its default.
                let is_created = !made_here.is_empty() && holder().is_some_and(|holder| made_here.contains(&holder));
                let wanted = !given_back.contains(index) && !is_created || place.required || place.fills_default();
                // A conditional value is not filled in if its condition does not hold.
                if self.to == Side::Newer && self.idle.contains(index) && !place.required && !place.fills_default() {
                    continue;
                }
                let is_held = || frontier.cut(self.to, slot).is_some_and(|cut| pieces.is_held(cut.holder));
                let needed = frontier.needed.of(self.to).get(slot) == Some(&true) && is_held();
                let filled = wanted && held_there.contains(slot);
                if (filled || needed)
                    && let Some(value) = pieces.slots.get_mut(slot).filter(|value| value.is_none())
                {
                    // A filled-in value of the other side belongs to the client if its object has more contents.
                    let read = from.of(frontier, source_side, index);
                    let made = || self.mapped((index, operation), self.to, read).into_iter().nth(at).flatten();
                    let fill = place.fill.as_ref().filter(|_| filled).and_then(|fill| fill.value(self.namespace));
                    *value = fill.or_else(|| (needed || place.required).then(made).flatten());
                }
            }
        }
    }

    /// Creates a shared object from its default, as the API server does.
    fn fill_holder(self, index: usize, made: &'a FilledObject, pieces: &mut Pieces<'a>) {
        for (holders, presence) in [(&made.objects, Presence::Object), (&made.nulls, Presence::Null)] {
            holders.iter().for_each(|holder| self.set_holder(*holder, presence, pieces));
        }
        self.set_holder(index, Presence::Object, pieces);
        for (index, value) in &made.cuts {
            let Some(cut) = self.level.frontier.cuts.get(*index) else { continue };
            let rest = split(cut.parts.of(self.to), Some(value.view()), &mut pieces.slots, &String::new);
            match rest {
                Ok(Some(rest)) => drop(pieces.rests.insert(*index, rest)),
                Ok(None) => drop(pieces.rests.remove(index)),
                Err(_) => {}
            }
        }
    }

    /// Returns whether the newer version had a value of an operation whose condition does not hold, as its kept value
    /// shows. The values of the older version still have that form: they return by themselves. Otherwise a forged entry
    /// could change them.
    fn runs_again(
        self,
        (index, operation): (usize, &Operation),
        read: &[Option<Json<'a>>],
        kept: &KeptFields<'a>,
    ) -> bool {
        let returns = || identical(&mapped(operation, Side::Older, &mapped(operation, Side::Newer, read)), read);
        self.to == Side::Newer
            && self.idle.contains(index)
            && operation.places.newer.first().is_some_and(|place| kept.has(&place.id))
            && returns()
    }

    /// The mapped values of an operation. Absent if its condition does not hold.
    pub(super) fn mapped(
        self,
        (index, operation): (usize, &Operation),
        to: Side,
        read: &[Option<Json<'a>>],
    ) -> Fragment<'a> {
        match to == Side::Newer && self.idle.contains(index) {
            true => smallvec![None; operation.places.of(to).len()],
            false => mapped(operation, to, read),
        }
    }

    fn set_holder(self, holder: usize, presence: Presence, pieces: &mut Pieces<'_>) {
        if let Some(place) = pieces.holders.get_mut(holder) {
            *place = presence;
        }
    }

    /// Returns whether an object of the written side equals its default.
    pub(super) fn is_as_made(self, index: usize, made: &'a FilledObject, object: &Pieces<'_>) -> bool {
        let frontier = &self.level.frontier;
        let mut expected = Pieces::new(object.slots.len(), frontier.holders.len());
        self.fill_holder(index, made, &mut expected);
        let is_inside = |mut holder: Option<usize>| {
            while let Some(at) = holder.filter(|at| *at != index) {
                holder = frontier.holders.get(at).and_then(|held| held.within);
            }
            holder.is_some()
        };
        let is_alike = |at: usize| expected.holder(at) == object.holder(at);
        let is_one = |made: &[Option<Json<'_>>], there: &[Option<Json<'_>>], at: usize| {
            identical(made.get(at..=at).unwrap_or_default(), there.get(at..=at).unwrap_or_default())
        };
        let is_rest = |at: usize| match (expected.rest(at), object.rest(at)) {
            (None, None) => true,
            (Some(made), Some(there)) => is_identical(made, there),
            _ => false,
        };
        let mut cuts = frontier.cuts.iter().enumerate().filter(|(_, cut)| is_inside(cut.holder));
        !self.others.contains(index)
            && (0..frontier.holders.len()).filter(|at| is_inside(Some(*at))).all(is_alike)
            && cuts.all(|(at, cut)| {
                let mut differs = |slot: usize| !is_one(&expected.slots, &object.slots, slot);
                is_rest(at) && !cut.parts.of(self.to).any(&mut differs)
            })
    }

    /// Fills in the defaults of objects that only the written version has. Restored values take precedence, because
    /// they are from the existing object.
    fn fill_objects(
        self,
        index: usize,
        cut: &'a SplitPoint,
        (from, kept, given_back): (&Pieces<'_>, &KeptFields<'_>, &BitSet),
        pieces: &mut Pieces<'a>,
    ) {
        let was_removed = self.was_removed(cut, from, kept);
        for (path, default) in cut.fills.of(self.to) {
            let whole = cut.parts.of(self.to);
            let Some(part) = whole.at(path) else { continue };
            let there = match path.parent() {
                Some(parent) => pieces.inside(index, whole, &parent) == Presence::Object,
                None => pieces.is_held(cut.holder) && (!kept.has(&cut.id) || was_removed),
            };
            if !there || pieces.inside(index, whole, path) != Presence::Absent {
                continue;
            }
            let mut made = vec![None; pieces.slots.len()];
            let Ok(Some(rest)) = split(part, Some(default.view()), &mut made, &String::new) else { continue };
            for (slot, (value, made)) in pieces.slots.iter_mut().zip(made).enumerate() {
                let operation = self.level.index_of(self.to, slot);
                if made.is_some() && !operation.is_some_and(|operation| given_back.contains(operation)) {
                    *value = made;
                }
            }
            if !is_natural(part, Some(&rest), &pieces.slots) {
                // Its members will exist, so it is an object, and this cannot fail.
                _ = tree::put(pieces.rests.entry(index).or_insert(Json::NULL), path, rest);
            }
        }
    }
}

/// No shared objects.
pub(super) static NOTHING: BitSet = BitSet::new();

/// The null state of values at places of lists or maps.
pub(super) fn kinds<'v>(values: &'v [Option<Json<'_>>]) -> impl Iterator<Item = Option<bool>> + 'v {
    values.iter().map(|value| value.as_ref().map(Json::is_null))
}

/// Returns whether the API server accepts a value in its place, if that is an annotation or a label.
fn takes(place: &Place, value: &Json<'_>) -> bool {
    place.metadata.is_none_or(|map| map.takes(value))
}

/// The mapped values of an operation, as the API server stores them: without nulls that the schema does not allow.
pub(super) fn mapped<'a>(operation: &Operation, to: Side, read: &[Option<Json<'a>>]) -> Fragment<'a> {
    let places = operation.places.of(to);
    // For every operation, absent maps to absent.
    if read.iter().all(Option::is_none) {
        return smallvec![None; places.len()];
    }
    let mut values = operation.map(to, read);
    values.resize(places.len(), None);
    for (value, place) in values.iter_mut().zip(places) {
        if value.as_ref().is_some_and(|value| value.is_null() && !place.schema.nullable || !takes(place, value)) {
            *value = None;
        }
    }
    values
}
