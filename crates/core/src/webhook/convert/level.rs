//! The operations of a step on one object: the root's, or an item's inside a list.
//!
//! The object is cut along the [frontier](crate::definition::frontier) ([`cut`](super::cut)), the values at the cuts are
//! taken apart into the operations' places and remainders, mapped, and put together again on the other side. What would
//! not come back by itself is kept: of an operation the values that mapping back does not give, of an object that only one
//! version has the remainder that no operation names.
//!
//! With `drop: spec.backup.legacy` and `rename: {from: spec.port, to: spec.net.port}`, going up:
//!
//! | | |
//! |---|---|
//! | object | `{spec: {port: 80, backup: {legacy: y, days: 3}}}` |
//! | cuts | `spec.port` = 80, `spec.backup.legacy` = y, `spec.net` is not there |
//! | mapped | `spec.net.port` = 80 |
//! | mapped back | `spec.port` = 80, `spec.backup.legacy` is not there, so y is kept |
//! | answer | `{spec: {backup: {days: 3}, net: {port: 80}}}` |
//!
//! On the way home `legacy` is given back only while `spec.backup` is an object: who removed that removed all of it.

use super::change::Change;
use super::context::Context;
use super::cut::{Found, Slots, Taken, held, is_natural, is_some, take};
use super::error::ConvertError;
use super::holders::{Marks, put};
use super::items::convert_items;
use super::joined::{fill, join as join_parts};
use super::kept::{Fields, identical, same};
use super::paths::join;
use super::tree;
use crate::definition::frontier::{Branch, Frontier, Part};
use crate::definition::{Fragment, Level, Path, Place, Schema, Side};
use crate::json::Json;

/// The operations of one level under way.
struct Conversion<'l, 'a> {
    level: &'l Level,
    to: Side,
    found: Found<'a>,
    /// What the operations make of it.
    made: Slots<'a>,
    /// Which operations were given back what was kept.
    given_back: Vec<bool>,
    /// Whether the object that a slot is in will be there on the side that is written, before anything is filled in.
    held_there: Vec<bool>,
    /// Remainders, one for each cut.
    rests: Slots<'a>,
    marks: Marks,
}

/// Converts `root` in place. `kept` is what the other side left here; what this side must keep is returned. `required` are
/// the fields by which the version that is written tells a complete object.
pub(super) fn convert<'a>(
    root: &mut Json<'a>,
    level: &Level,
    context: &mut Context<'_, '_>,
    kept: &Fields<'_>,
    prefix: &str,
    required: Option<&[Path]>,
) -> Result<Fields<'a>, ConvertError> {
    let (to, from) = (context.to, context.to.other());
    let frontier = &level.frontier;
    let mut taken = take(frontier, root, prefix)?;
    let slots = |side: Side| frontier.slots.of(side).last().copied().unwrap_or_default();
    let mut conversion = Conversion {
        level,
        to,
        found: Found::new(slots(from)),
        made: vec![None; slots(to)],
        given_back: vec![false; level.operations.len()],
        held_there: vec![false; slots(to)],
        rests: Vec::with_capacity(frontier.cuts.len()),
        marks: Marks::new(frontier.holders.len()),
    };
    for (cut, value) in frontier.cuts.iter().zip(std::mem::take(&mut taken.values)) {
        let held = cut.holder.is_none_or(|holder| taken.is_object(holder));
        if value.is_some() {
            frontier.mark(cut.holder, &mut conversion.marks.cut);
        }
        let at = || match cut.id.as_str() {
            "." => prefix.to_owned(),
            id => join(prefix, id),
        };
        conversion.rests.push(conversion.found.split(cut.parts.of(from), value, held, &at)?);
    }
    conversion.map(&taken, kept);
    let mut to_keep = Fields::default();
    conversion.keep_rests(&mut to_keep);
    let mut values = conversion.give_rests_back(&taken, kept);
    conversion.find_held(&taken, &values);
    if context.complete {
        conversion.fill(&values);
    }
    if let Some(required) = required {
        context.complete_at_home = conversion.is_complete(root, &taken, &values, required);
    }
    conversion.keep(context, &mut to_keep, prefix);
    conversion.items(context, kept, &mut to_keep, prefix)?;
    for (cut, value) in frontier.cuts.iter().zip(&mut values) {
        *value = join_parts(cut.parts.of(to), value.take(), &mut conversion.made);
    }
    put((frontier, to), root, (&mut values, &conversion.marks), kept, &mut to_keep, prefix)?;
    Ok(to_keep)
}

impl<'a> Conversion<'_, 'a> {
    /// The values of an operation on the side that was read.
    fn read(&self, index: usize) -> &[Option<Json<'a>>] {
        range(&self.level.frontier, self.to.other(), index, &self.found.values)
    }

    /// The values of an operation on the side that is written.
    fn written(&self, index: usize) -> &[Option<Json<'a>>] {
        range(&self.level.frontier, self.to, index, &self.made)
    }

    fn first(&self, side: Side, index: usize) -> usize {
        self.level.frontier.slots.of(side).get(index).copied().unwrap_or_default()
    }

    /// Maps the values of all operations but those on lists and maps, or gives back what was kept.
    fn map(&mut self, taken: &Taken<'_>, kept: &Fields<'_>) {
        for (index, operation) in self.level.operations.iter().enumerate() {
            if operation.items().is_some() {
                // As it is for now: its items are converted last.
                let there = operation.places.of(self.to).first();
                let filled = there.and_then(|place| kept.value(&place.id, 1, self.read(index)));
                let value = match filled.as_deref() {
                    Some([None]) => None,
                    _ => self.read(index).first().cloned().flatten(),
                };
                let first = self.first(self.to, index);
                if let Some(place) = self.made.get_mut(first) {
                    *place = value;
                }
                continue;
            }
            let places = operation.places.of(self.to);
            let kept = places
                .first()
                .and_then(|place| kept.value(&place.id, places.len(), self.read(index)))
                .filter(|values| self.may_return(index, places, values, taken));
            let given_back = kept.is_some();
            if let Some(kept) = &kept
                && !identical(kept, &operation.map(self.to, self.read(index)))
            {
                self.mark_given(index);
            }
            let values: Fragment<'a> = match kept {
                Some(values) => values,
                None => operation.map(self.to, self.read(index)),
            };
            if let Some(place) = self.given_back.get_mut(index) {
                *place = given_back;
            }
            let first = self.first(self.to, index);
            for (slot, value) in values.into_iter().enumerate() {
                if let Some(place) = self.made.get_mut(first + slot) {
                    *place = value;
                }
            }
        }
    }

    /// What is put at the places of an operation is not what mapping alone would make.
    fn mark_given(&mut self, index: usize) {
        let frontier = &self.level.frontier;
        let slots = self.first(self.to, index)..self.first(self.to, index + 1);
        for slot in slots {
            let holder = frontier.held_by.of(self.to).get(slot).copied().flatten();
            frontier.mark(holder, &mut self.marks.given);
        }
    }

    /// Whether kept values may come back: each in an object that is still there, and of its field's JSON type. Bounds and
    /// enums are the API server's to check; they change while objects are stored.
    fn may_return(&self, index: usize, places: &[Place], values: &Fragment<'_>, taken: &Taken<'_>) -> bool {
        let first = self.first(self.to, index);
        let mut values = values.iter().zip(places).enumerate();
        values.all(|(slot, (value, place))| {
            // What a version requires and has a default for is filled in, however it is kept.
            let Some(value) = value else { return !(place.required && place.fill.is_some()) };
            let holders = self.level.frontier.held_by.of(self.to);
            let holder = holders.get(first + slot).copied().flatten();
            let held = holder.is_none_or(|holder| taken.is_object(holder));
            held && place.schema.has_types_of(value)
        })
    }

    /// Keeps what is left of objects that only the version that was read has.
    fn keep_rests(&mut self, to_keep: &mut Fields<'a>) {
        for (cut, rest) in self.level.frontier.cuts.iter().zip(&self.rests) {
            let part = cut.parts.of(self.to.other());
            if let Some(rest) = rest
                && !is_natural(part, Some(rest), &self.found.values)
            {
                let seen = part.any(&mut |slot| is_some(&self.found.values, slot));
                to_keep.keep_rest(&cut.id, rest.clone(), seen);
                self.level.frontier.mark(cut.holder, &mut self.marks.keeps);
            }
        }
    }

    /// What was left of objects that only the version that is written has.
    fn give_rests_back(&mut self, taken: &Taken<'_>, kept: &Fields<'_>) -> Slots<'a> {
        let cuts = self.level.frontier.cuts.iter();
        cuts.map(|cut| {
            let part = cut.parts.of(self.to);
            if matches!(part, Part::Slot(_)) {
                return None;
            }
            let (rest, seen) = kept.rest(&cut.id)?;
            let typed = |schema: &Schema| schema.has_types_of(&rest);
            let held = cut.holder.is_none_or(|holder| taken.is_object(holder))
                && cut.schemas.of(self.to).as_ref().is_none_or(typed);
            let gone = seen && !part.any(&mut |slot| is_some(&self.made, slot));
            if held && !gone {
                self.level.frontier.mark(cut.holder, &mut self.marks.given);
            }
            (held && !gone).then_some(rest)
        })
        .collect()
    }

    /// Finds which objects will be there on the side that is written.
    fn find_held(&mut self, taken: &Taken<'_>, rests: &Slots<'_>) {
        let frontier = &self.level.frontier;
        let mut holders: Vec<bool> = (0..frontier.holders.len()).map(|holder| taken.is_object(holder)).collect();
        for (cut, rest) in frontier.cuts.iter().zip(rests) {
            let part = cut.parts.of(self.to);
            if rest.is_some() || part.any(&mut |slot| is_some(&self.made, slot)) {
                frontier.mark(cut.holder, &mut holders);
            }
        }
        for (cut, rest) in frontier.cuts.iter().zip(rests) {
            let part = cut.parts.of(self.to);
            let outside = cut.holder.is_none_or(|holder| holders.get(holder).copied().unwrap_or_default());
            let there = match part {
                Part::Slot(_) => outside,
                _ => rest.as_ref().is_some_and(Json::is_object),
            };
            held(part, there, &mut |slot| is_some(&self.made, slot), &mut |slot| {
                if let Some(held) = self.held_there.get_mut(slot) {
                    *held = true;
                }
            });
        }
    }

    /// Whether the API server fills in what an operation leaves out on the side that is written.
    fn is_filled_there(&self, index: usize) -> bool {
        let Some(operation) = self.level.operations.get(index) else { return false };
        let places = operation.places.of(self.to).iter();
        places.zip(self.first(self.to, index)..).any(|(place, slot)| {
            place.schema.default.is_some() && self.held_there.get(slot).copied().unwrap_or_default()
        })
    }

    /// Fills what readers of a complete object expect, in objects that are there.
    fn fill(&mut self, rests: &Slots<'_>) {
        let frontier = &self.level.frontier;
        let mut fills: Slots<'a> = Vec::with_capacity(self.made.len());
        let operations = self.level.operations.iter().zip(&self.given_back);
        for (index, (operation, given_back)) in operations.enumerate() {
            // What has a default in the version that was read was filled in there, if its object was there. Where it is
            // absent all the same somebody looks before that, and it says nothing.
            let first = self.first(self.to.other(), index);
            let mut read = operation.places.of(self.to.other()).iter().enumerate();
            let early = read.any(|(slot, place)| {
                place.schema.default.is_some() && self.found.held.get(first + slot).copied().unwrap_or_default()
            });
            for place in operation.places.of(self.to) {
                fills.push(place.fill.clone().filter(|_| !given_back && !early));
            }
        }
        for (cut, rest) in frontier.cuts.iter().zip(rests) {
            let part = cut.parts.of(self.to);
            let outside = match part {
                Part::Slot(slot) => self.held_there.get(*slot).copied().unwrap_or_default(),
                _ => false,
            };
            fill(part, rest.as_ref(), outside, &mut self.made, &|slot| fills.get(slot).cloned().flatten());
        }
    }

    /// Whether the object will be complete in the version that is written.
    fn is_complete(&self, root: &mut Json<'a>, taken: &Taken<'_>, rests: &Slots<'_>, required: &[Path]) -> bool {
        let frontier = &self.level.frontier;
        required.iter().all(|path| {
            let mut branch = &frontier.root;
            for name in path.names() {
                let Branch::Holder(holder) = branch else { break };
                match holder.branch(name) {
                    Some((_, next)) => branch = next,
                    None => {
                        let value = tree::get(root, "", path).ok().flatten();
                        return value.is_some_and(|value| !value.is_null());
                    }
                }
            }
            match branch {
                Branch::Holder(holder) => taken.is_object(holder.index),
                Branch::Cut(index) => frontier.cuts.get(*index).is_some_and(|cut| {
                    let filled =
                        |slot: usize| self.made.get(slot).and_then(Option::as_ref).is_some_and(|v| !v.is_null());
                    cut.parts.of(self.to).any(&mut |slot| filled(slot))
                        || rests.get(*index).is_some_and(Option::is_some)
                }),
            }
        })
    }

    /// Keeps what mapping back would not give, and tells what changed.
    fn keep(&mut self, context: &mut Context<'_, '_>, to_keep: &mut Fields<'a>, prefix: &str) {
        let from = self.to.other();
        let back = self.mapped_back(context);
        let mut keeps_in = std::mem::take(&mut self.marks.keeps);
        for (index, (operation, back)) in self.level.operations.iter().zip(back).enumerate() {
            let (was, became) = (self.read(index), self.written(index));
            let Some(place) = operation.places.of(from).first() else {
                self.tell(context, index, false, prefix);
                continue;
            };
            if operation.items().is_some() {
                // What was filled in is nobody's list; others are converted item by item.
                if let ([None], [Some(filled)]) = (was, became) {
                    to_keep.keep(&place.id, &[None], &[Some(filled.clone())]);
                }
                continue;
            }
            let keeps = !identical(&back, was);
            if keeps {
                to_keep.keep(&place.id, was, became);
                let slots = self.first(from, index)..self.first(from, index + 1);
                for holder in self.level.frontier.held_by.of(from).get(slots).into_iter().flatten() {
                    self.level.frontier.mark(*holder, &mut keeps_in);
                }
            }
            self.tell(context, index, keeps, prefix);
        }
        self.marks.keeps = keeps_in;
    }

    /// Tells what an operation did.
    fn tell(&self, context: &mut Context<'_, '_>, index: usize, kept: bool, prefix: &str) {
        let Some(operation) = self.level.operations.get(index) else { return };
        let (was, became) = (self.read(index), self.written(index));
        let given_back = self.given_back.get(index).copied().unwrap_or_default();
        let path = |side: Side| operation.places.of(side).first().map(|place| &place.path);
        context.trace.record(|| {
            let change = Change::of(operation, self.to, was, became, prefix)?;
            let told = path(Side::Older) != path(Side::Newer) || kept || !same(was, became);
            told.then_some(Change { kept, given_back, ..change })
        });
    }

    /// What each operation gives on the way home, if nothing is kept, with what is filled in there.
    fn mapped_back(&mut self, context: &mut Context<'_, '_>) -> Vec<Fragment<'a>> {
        let (from, frontier) = (self.to.other(), &self.level.frontier);
        let operations = self.level.operations.iter().enumerate();
        let mut back: Vec<Fragment<'a>> =
            operations.map(|(index, operation)| operation.map(from, self.written(index))).collect();
        let returns: Vec<bool> = back.iter().flatten().map(Option::is_some).collect();
        for (holder, returns) in frontier.held_by.of(from).iter().zip(&returns) {
            if *returns {
                frontier.mark(*holder, &mut self.marks.returns);
            }
        }
        let mut there = vec![false; returns.len()];
        for (cut, rest) in frontier.cuts.iter().zip(&self.rests) {
            let part = cut.parts.of(from);
            let kept =
                rest.as_ref().is_some_and(|rest| rest.is_object() && !is_natural(part, Some(rest), &self.found.values));
            let is_slot = matches!(part, Part::Slot(_));
            let mut filled = |slot: usize| returns.get(slot).copied().unwrap_or_default();
            held(part, kept || is_slot, &mut filled, &mut |slot| {
                if let Some(there) = there.get_mut(slot) {
                    *there = self.found.held.get(slot).copied().unwrap_or_default();
                }
            });
        }
        let mut slot = 0;
        for (index, (operation, back)) in self.level.operations.iter().zip(&mut back).enumerate() {
            let filled_there = self.is_filled_there(index);
            for (place, value) in operation.places.of(from).iter().zip(back) {
                let was = self.found.values.get(slot).is_some_and(Option::is_some);
                let there = there.get(slot).copied().unwrap_or_default();
                slot += 1;
                if value.is_some() || !there || !context.complete_at_home || filled_there {
                    continue;
                }
                context.invents |= !context.complete && !was && place.fill.is_some();
                // A complete object has its defaults: one that is missing was not filled in yet, which says nothing.
                if was || !(place.required || place.fills_default()) {
                    value.clone_from(&place.fill);
                }
            }
        }
        back
    }

    /// Converts lists and maps, item by item.
    fn items(
        &mut self,
        context: &mut Context<'_, '_>,
        kept: &Fields<'_>,
        to_keep: &mut Fields<'a>,
        prefix: &str,
    ) -> Result<(), ConvertError> {
        let from = self.to.other();
        for (index, operation) in self.level.operations.iter().enumerate() {
            let Some(inside) = operation.items() else { continue };
            if self.found.values.get(self.first(from, index)).is_none_or(Option::is_none) {
                continue;
            }
            let (Some(here), Some(there)) = (operation.places.of(from).first(), operation.places.of(self.to).first())
            else {
                continue;
            };
            let first = self.first(self.to, index);
            let Some(mut value) = self.made.get_mut(first).and_then(Option::take) else {
                continue;
            };
            let at = join(prefix, &here.id);
            let entries = kept.items(&there.id);
            let item = there.schema.each.as_deref();
            let is_item = |value: &Json<'_>| item.is_none_or(|item| item.has_types_of(value));
            let to = (self.to, &inside.keys, &is_item as &dyn Fn(&Json<'_>) -> bool);
            let items = convert_items(&mut value, to, entries, &at, &mut |item, kept, at| {
                convert(item, &inside.level, context, kept, at, None)
            })?;
            let keeps = items.is_some();
            if let Some(items) = items {
                to_keep.keep_items(&here.id, items);
            }
            let moved = here.path != there.path;
            context.trace.record(|| {
                let values = [Some(value.clone())];
                let change = Change::of(operation, self.to, &values, &values, prefix)?;
                (moved || keeps).then_some(Change { kept: keeps, ..change })
            });
            if let Some(place) = self.made.get_mut(first) {
                *place = Some(value);
            }
        }
        Ok(())
    }
}

fn range<'r, 'a>(frontier: &Frontier, side: Side, index: usize, slots: &'r Slots<'a>) -> &'r [Option<Json<'a>>] {
    let bounds = frontier.slots.of(side).get(index..index + 2);
    match bounds {
        Some([first, end]) => slots.get(*first..*end).unwrap_or_default(),
        _ => &[],
    }
}
