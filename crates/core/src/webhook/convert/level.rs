//! The operations of a step on one object: the root's, or an item's inside a list.
//!
//! The object is cut along the [frontier](crate::definition::frontier) ([`cut`](super::cut)), the values at the cuts
//! are taken apart into the operations' places and remainders, mapped, and put together again on the other side. What
//! would not come back by itself is kept: of an operation the values that mapping back does not give, of an object that
//! only one version has the remainder that no operation names.
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

use super::between_steps;
use super::change::Change;
use super::context::Context;
use super::cross::{Crossed, Crossing, StayingObjects};
use super::cut::take;
use super::error::ConvertError;
use super::holders::put;
use super::items::{WrittenItems, convert_items};
use super::kept::{KeptFields, ObjectBefore, identical, same};
use super::paths::join;
use super::pieces::{Pieces, Presence};
use super::tree;
use crate::definition::frontier::{Branch, Part};
use crate::definition::{Level, Place, Required, Side};
use crate::json::Json;

/// Converts `root` in place. `kept` is what the other side left here; what this side must keep is returned. `required`
/// are the fields by which the version that is written tells a complete object.
pub(super) fn convert<'a>(
    root: &mut Json<'a>,
    level: &Level,
    context: &mut Context<'_, '_>,
    kept: &KeptFields<'_>,
    prefix: &str,
    required: Option<&[Required]>,
) -> Result<KeptFields<'a>, ConvertError> {
    let to = context.to;
    let frontier = &level.frontier;
    let taken = take(frontier, root, prefix)?;
    if taken.is_nothing() && kept.is_empty() && !context.goes_on && !frontier.fills.older && !frontier.fills.newer {
        // Whatever the operations are: of nothing there comes nothing, there and back.
        if let Some(required) = required {
            context.tell_at_home(tree::has_all(root, required));
        }
        return Ok(KeptFields::default());
    }
    let (from, others) = taken.into_pieces(frontier, to.other(), prefix)?;
    let (mut waiting, mut made) = (Vec::new(), Vec::new());
    if prefix.is_empty() {
        waiting = between_steps::waiting(frontier, context.waiting.of(to.other()), &[]);
        made = between_steps::made(frontier, context.made);
    }
    let crossing = Crossing {
        level,
        to,
        complete: context.complete,
        staying: StayingObjects::None,
        others: &others,
        waiting: &waiting,
        made: &made,
    };
    let crossed = crossing.run(&from, kept);
    let mut conversion = Conversion { crossing, from, crossed, waiting: Vec::new(), to_keep: KeptFields::default() };
    if let Some(required) = required {
        context.tell_at_home(conversion.is_complete(root, required));
    }
    if !conversion.keep(context, prefix) {
        for staying in [StayingObjects::Emptied, StayingObjects::All] {
            conversion.crossing.staying = staying;
            conversion.crossed = conversion.crossing.run(&conversion.from, kept);
            if conversion.keep(context, prefix) {
                break;
            }
        }
    }
    conversion.tell(context, prefix);
    conversion.items(context, kept, prefix)?;
    let Conversion { from, crossed, to_keep, .. } = conversion;
    if prefix.is_empty() && context.goes_on {
        between_steps::note_made(frontier, &from, &crossed.pieces, context.made);
    }
    put(frontier, to, root, crossed.pieces);
    Ok(to_keep)
}

/// The operations of one level under way.
struct Conversion<'l, 'a> {
    crossing: Crossing<'l>,
    from: Pieces<'a>,
    crossed: Crossed<'a>,
    /// Which holders have something in them that waits for a version behind the one that is written.
    waiting: Vec<bool>,
    to_keep: KeptFields<'a>,
}

impl<'a> Conversion<'_, 'a> {
    fn read(&self, index: usize) -> &[Option<Json<'a>>] {
        self.from.of(&self.crossing.level.frontier, self.crossing.to.other(), index)
    }

    fn written(&self, index: usize) -> &[Option<Json<'a>>] {
        self.crossed.pieces.of(&self.crossing.level.frontier, self.crossing.to, index)
    }

    /// The way home.
    fn home(&self, complete: bool) -> Crossing<'_> {
        self.crossing.back(complete, &self.waiting)
    }

    /// Whether the object will be complete in the version that is written.
    fn is_complete(&self, root: &mut Json<'_>, required: &[Required]) -> bool {
        let frontier = &self.crossing.level.frontier;
        let pieces = &self.crossed.pieces;
        required.iter().all(|Required { path, nullable }| {
            let mut branch = &frontier.root;
            let mut names = path.names();
            loop {
                match branch {
                    Branch::Holder(holder) if pieces.holder(holder.index) != Presence::Object => {
                        return *nullable && names.is_empty() && pieces.holder(holder.index) == Presence::Null;
                    }
                    Branch::Holder(holder) => match names.split_first() {
                        None => return true,
                        Some((name, rest)) => match holder.branch(name) {
                            Some((_, next)) => (branch, names) = (next, rest),
                            None => {
                                let value = tree::get(root, "", path).ok().flatten();
                                return value.is_some_and(|value| *nullable || !value.is_null());
                            }
                        },
                    },
                    Branch::Cut(index) => {
                        let part = frontier.cuts.get(*index).map(|cut| cut.parts.of(self.crossing.to));
                        return part
                            .is_some_and(|part| is_there(part, pieces.rest(*index), pieces, (names, *nullable)));
                    }
                }
            }
        })
    }

    /// Keeps what the way home would not give by itself. Whether it gives all of it then.
    fn keep(&mut self, context: &mut Context<'_, '_>, prefix: &str) -> bool {
        let behind = context.waiting.of(self.crossing.to);
        if prefix.is_empty() && !behind.is_empty() {
            let frontier = &self.crossing.level.frontier;
            let made = between_steps::all_made(frontier, &self.from, &self.crossed.pieces, context.made);
            self.waiting = between_steps::waiting(frontier, behind, &made);
        }
        let mut back = self.home(context.complete_at_home).run(&self.crossed.pieces, &KeptFields::default());
        if context.complete_at_home && !context.complete {
            let sparse = self.home(false).run(&self.crossed.pieces, &KeptFields::default());
            if !self.is_alike(&back.pieces, &sparse.pieces) {
                (context.invents, context.complete_at_home) = (true, false);
                back = sparse;
            }
        }
        self.to_keep = KeptFields::default();
        for round in 0..4 {
            *context.stays_for_waiting |= back.by_waiting;
            match self.keep_differences(&back, context, round) {
                Home::Told => return true,
                Home::Unsure => {}
            }
            back = self.home(context.complete_at_home).run(&self.crossed.pieces, &self.to_keep);
        }
        false
    }

    /// Whether two objects of the side that was read are the same.
    fn is_alike(&self, one: &Pieces<'_>, two: &Pieces<'_>) -> bool {
        same(&one.slots, &two.slots) && same(&one.rests, &two.rests) && one.holders == two.holders
    }

    /// Keeps what is not on the way home as it was.
    fn keep_differences(&mut self, back: &Crossed<'a>, context: &Context<'_, '_>, round: usize) -> Home {
        let Crossed { pieces: back, by_values, .. } = back;
        let (frontier, side) = (&self.crossing.level.frontier, self.crossing.to.other());
        let (mut alike, mut adds) = (true, true);
        for (index, operation) in self.crossing.level.operations.iter().enumerate() {
            let places = operation.places.of(side);
            let Some(place) = places.first() else { continue };
            let (was, now) = (self.read(index), back.of(frontier, side, index));
            let is_same = match operation.items() {
                // Items are compared one by one.
                Some(_) => kinds(was).eq(kinds(now)),
                None => identical(now, was),
            };
            if is_same || context.complete && self.is_unsaid(index, places, now) {
                continue;
            }
            alike = false;
            adds &= !was.iter().zip(now).any(|(was, now)| was.is_none() && now.is_some());
            let (id, was, became) = (&place.id, was.to_vec(), self.written(index).to_vec());
            self.to_keep.keep(id, &was, &became);
            let home = self.home(context.complete_at_home);
            adds &= home.returned(index, operation, &self.crossed.pieces, &self.to_keep).is_some();
        }
        // Values that come back into objects that are there change nothing else, where no object is there for their
        // sake.
        let sure = adds && !by_values && !*frontier.fills_inside.of(side);
        for (index, cut) in frontier.cuts.iter().enumerate() {
            let (was, now) = (self.from.rest(index), back.rest(index));
            let is_same = match (was, now) {
                (None, None) => true,
                (Some(was), Some(now)) => same_one(&Some(was.view()), &Some(now.view())),
                _ => false,
            };
            if is_same {
                continue;
            }
            alike = false;
            adds = false;
            match was {
                Some(rest) => {
                    let seen = cut.parts.of(side).any(&mut |slot| self.from.has(slot));
                    self.to_keep.keep_rest(&cut.id, rest.clone(), seen);
                }
                None => self.to_keep.keep(&cut.id, &[None], &[None]),
            }
        }
        if back.holders == self.from.holders {
            return if alike || sure && adds { Home::Told } else { Home::Unsure };
        }
        // With the values that were there most objects are what they were. What the others were has to be said.
        if alike || round > 0 {
            self.keep_holders(back);
        }
        Home::Unsure
    }

    fn keep_holders(&mut self, back: &Pieces<'_>) {
        for (index, holder) in self.crossing.level.frontier.holders.iter().enumerate() {
            let was = self.from.holder(index);
            if was != back.holder(index) {
                self.to_keep.note_object_before(
                    &holder.id,
                    match was {
                        Presence::Absent => ObjectBefore::Absent,
                        Presence::Null => ObjectBefore::Null,
                        Presence::Object => ObjectBefore::Empty,
                    },
                );
            }
        }
    }

    /// Whether values are other ones only because defaults were not filled in yet. A complete object has them, in
    /// objects that are there: where one is missing somebody looks before that, and it says nothing.
    fn is_unsaid(&self, operation: usize, places: &[Place], back: &[Option<Json<'_>>]) -> bool {
        let (frontier, side) = (&self.crossing.level.frontier, self.crossing.to.other());
        let first = frontier.slots.of(side).get(operation).copied().unwrap_or_default();
        let held = self.from.held(frontier, side);
        let values = self.read(operation).iter().zip(back);
        values.zip(places).zip(first..).all(|(((was, now), place), slot)| {
            let fills = place.required || place.fills_default();
            same_one(was, now) || was.is_none() && now.is_some() && fills && held.get(slot) == Some(&true)
        })
    }

    /// Tells what the operations did.
    fn tell(&self, context: &mut Context<'_, '_>, prefix: &str) {
        if !context.trace.is_on() {
            return;
        }
        let to = self.crossing.to;
        let operations = self.crossing.level.operations.iter().zip(&self.crossed.given_back);
        for (index, (operation, given_back)) in operations.enumerate() {
            let (was, became) = (self.read(index), self.written(index));
            let path = |side: Side| operation.places.of(side).first().map(|place| &place.path);
            let kept = operation.places.of(to.other()).first().is_some_and(|place| self.to_keep.has(&place.id));
            if operation.items().is_some() {
                continue;
            }
            context.trace.record(|| {
                let change = Change::of(operation, to, was, became, prefix)?;
                let told = path(Side::Older) != path(Side::Newer) || kept || !same(was, became);
                told.then_some(Change { kept, given_back: *given_back, ..change })
            });
        }
    }

    /// Converts lists and maps, item by item.
    fn items(
        &mut self,
        context: &mut Context<'_, '_>,
        kept: &KeptFields<'_>,
        prefix: &str,
    ) -> Result<(), ConvertError> {
        let Crossing { level, to, .. } = self.crossing;
        for (index, operation) in level.operations.iter().enumerate() {
            let Some(inside) = operation.items() else { continue };
            // What was filled in is nobody's list.
            if !matches!(self.read(index), [Some(_)]) {
                continue;
            }
            let places = operation.places.of(to.other()).first().zip(operation.places.of(to).first());
            let Some((here, there)) = places else { continue };
            let slot = level.frontier.slots.of(to).get(index).copied().unwrap_or_default();
            let Some(mut value) = self.crossed.pieces.slots.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            let at = join(prefix, &here.id);
            let entries = kept.items(&there.id);
            let item = there.schema.each.as_deref();
            // The API server takes no null out of a list, as it does out of an object.
            let is_item = |value: &Json<'_>| {
                item.is_none_or(|item| item.has_types_of(value) && (!value.is_null() || item.can_be_null()))
            };
            let target = WrittenItems { to, keys: &inside.keys, is_item: &is_item };
            let items = convert_items(&mut value, target, entries, &at, &mut |item, kept, at| {
                convert(item, &inside.level, context, kept, at, None)
            })?;
            let keeps = items.is_some();
            if let Some(items) = items {
                self.to_keep.keep_items(&here.id, items);
            }
            let moved = here.path != there.path;
            context.trace.record(|| {
                let values = [Some(value.clone())];
                let change = Change::of(operation, to, &values, &values, prefix)?;
                (moved || keeps).then_some(Change { kept: keeps, ..change })
            });
            if let Some(place) = self.crossed.pieces.slots.get_mut(slot) {
                *place = Some(value);
            }
        }
        Ok(())
    }
}

/// What is known of the way home, with what is kept.
enum Home {
    /// It gives what was there.
    Told,
    /// It may give something else: it has to be tried.
    Unsure,
}

/// What is at places where lists or maps may be.
fn kinds<'v>(values: &'v [Option<Json<'_>>]) -> impl Iterator<Item = Option<bool>> + 'v {
    values.iter().map(|value| value.as_ref().map(Json::is_null))
}

fn same_one(one: &Option<Json<'_>>, two: &Option<Json<'_>>) -> bool {
    identical(std::slice::from_ref(one), std::slice::from_ref(two))
}

/// Whether there is something at the end of a path through a cut. Null may do.
fn is_there(part: &Part, rest: Option<&Json<'_>>, pieces: &Pieces<'_>, (names, null): (&[Box<str>], bool)) -> bool {
    match (part, names.split_first()) {
        (Part::Slot(slot), _) => reaches(pieces.slots.get(*slot).and_then(Option::as_ref), names, null),
        (Part::Object(parts), Some((name, inner))) => {
            let below = rest.and_then(|rest| rest.get(name));
            match parts.iter().find(|(other, _)| other == name) {
                Some((_, part)) => is_there(part, below.as_ref(), pieces, (inner, null)),
                None => reaches(below.as_ref(), inner, null),
            }
        }
        (Part::Object(_), None) => reaches(rest, names, null) || part.any(&mut |slot| pieces.has(slot)),
        (Part::Unknown, _) => reaches(rest, names, null),
    }
}

fn reaches(value: Option<&Json<'_>>, names: &[Box<str>], null: bool) -> bool {
    let Some(value) = value else { return false };
    match names.split_first() {
        None => null || !value.is_null(),
        Some((name, rest)) => reaches(value.get(name).as_ref(), rest, null),
    }
}
