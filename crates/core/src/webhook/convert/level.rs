//! The operations of a step on one object: the root, or an item of a list.
//!
//! The object is split at the [frontier](crate::definition::frontier) ([`cut`](super::cut)). The values there are
//! separated into the places of operations and remainders, mapped, and joined on the other side. Values that would not
//! return by themselves are kept: the values of an operation that the reverse mapping does not restore, and the
//! remainder of an object that only one version has.
//!
//! With `drop: spec.backup.legacy` and `rename: {from: spec.port, to: spec.net.port}`, in a conversion up:
//!
//! | | |
//! |---|---|
//! | object | `{spec: {port: 80, backup: {legacy: y, days: 3}}}` |
//! | split points | `spec.port` = 80, `spec.backup.legacy` = y, `spec.net` is absent |
//! | mapped | `spec.net.port` = 80 |
//! | mapped back | `spec.port` = 80, `spec.backup.legacy` is absent, so y is kept |
//! | result | `{spec: {backup: {days: 3}, net: {port: 80}}}` |
//!
//! In the conversion back, `legacy` is restored only while `spec.backup` is an object. If a client removed the object,
//! all of its contents are lost.

use std::cell::{LazyCell, OnceCell};

use super::bit_set::BitSet;
use super::change::{Change, Trace};
use super::conditions;
use super::context::Context;
use super::cut::take;
use super::error::ConvertError;
use super::items::{ConvertItem, ListOfItems, convert_items};
use super::kept::{KeptFields, ObjectBefore, identical, is_identical, same};
use super::paths::ErrorPath;
use super::pending::RetainedObjects;
use super::pending_defaults::PendingDefaults;
use super::pieces::{Pieces, Presence};
use super::projection::{NOTHING, Projected, Projection, RetainedState, kinds, mapped};
use super::proof::EntryProof;
use super::shared_objects::put;
use super::tree;
use crate::definition::frontier::{Branch, Part, SplitPoint};
use crate::definition::{ANYTHING, Completeness, Level, Path, Required, Schema, Side, Sides};
use crate::json::Json;

/// Converts `root` in place. `kept` are the kept values of the other side. Returns the values that this side must keep.
/// `required` are the required fields of a complete object in the version that is written.
pub(super) fn convert<'a>(
    root: &mut Json<'a>,
    level: &'a Level,
    context: &mut Context<'_, '_>,
    kept: &KeptFields<'a>,
    here: &ErrorPath<'_>,
    required: Option<&Completeness>,
) -> Result<KeptFields<'a>, ConvertError> {
    let to = context.to;
    let frontier = &level.frontier;
    let mut idle = idle_at_first(level, root, context)?;
    let taken = take(frontier, root, here)?;
    if taken.is_nothing() && kept.is_empty() && !frontier.fills.older && !frontier.fills.newer {
        // For every operation, absent maps to absent in both directions.
        if let Some(required) = required {
            context.record_completeness(required.is_met(context.has_uid, &mut |field| tree::has(root, field)));
        }
        return Ok(KeptFields::default());
    }
    let (from, others) = taken.into_pieces(frontier, to.other(), here)?;
    let nothing = Sides::default();
    let needed = if here.is_object() { context.needed } else { &nothing };
    let staying = RetainedObjects::new(level, to.other(), to, needed.of(to.other()));
    let on_return = RetainedObjects::new(level, to, to.other(), needed.of(to));
    let mut slots = Sides::<&[usize]>::default();
    (*slots.of_mut(to.other()), *slots.of_mut(to)) = (&staying.slots, &on_return.slots);
    let mut waiting = Sides::default();
    *waiting.of_mut(to) = holders(&staying, level, to, needed.of(to));
    *waiting.of_mut(to.other()) = holders(&on_return, level, to.other(), needed.of(to.other()));
    let crossing = Projection {
        level,
        to,
        complete: context.complete,
        namespace: context.namespace,
        staying: RetainedState::None,
        stuck: &NOTHING,
        others: &others,
        needed: slots,
        waiting: &waiting,
        idle: &NOTHING,
        stale: &NOTHING,
    };
    let (mut stale, mut proven) = (BitSet::new(), None);
    if level.is_conditional && to == Side::Older {
        (idle, stale) = converted_down(root, Projection { idle: &idle, ..crossing }, &from, kept, context)?;
    } else if !kept.is_empty() {
        (stale, proven) = proved(Projection { idle: &idle, ..crossing }, &from, kept);
    }
    let crossing = Projection { idle: &idle, stale: &stale, ..crossing };
    let stuck = OnceCell::new();
    let crossed = proven.unwrap_or_else(|| crossing.run(&from, kept));
    let mut conversion = Conversion { crossing, from, crossed, staying: &staying, to_keep: KeptFields::default() };
    if let Some(required) = required {
        context.record_completeness(required.is_met(context.has_uid, &mut |field| conversion.has(root, field)));
    }
    conversion.settle(kept, &stuck, context);
    conversion.record_changes(context, here);
    conversion.items(context, kept, here)?;
    let Conversion { crossed, to_keep, .. } = conversion;
    put(frontier, to, root, crossed.pieces);
    Ok(to_keep)
}

/// The operations that do not run, as far as known. Conditions apply to the older side, which does not exist yet in a
/// conversion down.
fn idle_at_first(level: &Level, root: &mut Json<'_>, context: &mut Context<'_, '_>) -> Result<BitSet, ConvertError> {
    match level.is_conditional {
        true if context.to == Side::Newer => conditions::idle(level, root, context),
        true => Ok(conditions::conditional(level)),
        false => Ok(BitSet::new()),
    }
}

/// The shared objects that stay for pending values of either side.
fn holders(staying: &RetainedObjects, level: &Level, side: Side, needed: &[Path]) -> BitSet {
    let mut holders = staying.holders.clone();
    holders.extend_from(&RetainedObjects::new(level, side, side, needed).holders);
    holders
}

/// In a conversion down: the operations that do not run, and those whose kept values are not restored.
fn converted_down<'a>(
    root: &Json<'a>,
    crossing: Projection<'_, 'a>,
    from: &Pieces<'a>,
    kept: &KeptFields<'a>,
    context: &mut Context<'_, '_>,
) -> Result<(BitSet, BitSet), ConvertError> {
    let level = crossing.level;
    for fact in &level.facts {
        if context.facts.get(&fact.name).is_none()
            && let Some(truth) = conditions::infer_fact(level, from, &fact.name)
        {
            context.facts = context.facts.with(&fact.name, truth);
        }
    }
    let mut stale = BitSet::new();
    // A value that is not restored may change another result. Each round removes at least one operation.
    for _ in 0..=level.operations.len() {
        let mut older = root.clone();
        let crossing = Projection { stale: &stale, ..crossing };
        let crossed = crossing.run(from, kept);
        put(&level.frontier, crossing.to, &mut older, crossed.pieces.clone());
        let idle = conditions::idle(level, &mut older, context)?;
        let unproven = match kept.is_empty() {
            true => BitSet::new(),
            false => EntryProof(Projection { idle: &idle, ..crossing }).unproven(from, &crossed),
        };
        if unproven.is_empty() {
            return Ok((idle, stale));
        }
        stale.extend_from(&unproven);
    }
    Ok((conditions::conditional(level), stale))
}

/// The operations whose kept values are not restored, if no condition depends on the result, and the last projection
/// without them.
fn proved<'a>(
    crossing: Projection<'_, 'a>,
    from: &Pieces<'a>,
    kept: &KeptFields<'a>,
) -> (BitSet, Option<Projected<'a>>) {
    let mut stale = BitSet::new();
    for _ in 0..=crossing.level.operations.len() {
        let crossing = Projection { stale: &stale, ..crossing };
        let crossed = crossing.run(from, kept);
        let unproven = EntryProof(crossing).unproven(from, &crossed);
        if unproven.is_empty() {
            return (stale, Some(crossed));
        }
        stale.extend_from(&unproven);
    }
    (stale, None)
}

/// The state of the operations of one level.
struct Conversion<'l, 'a> {
    crossing: Projection<'l, 'a>,
    from: Pieces<'a>,
    crossed: Projected<'a>,
    /// The objects of the version that is read that must stay for pending values.
    staying: &'l RetainedObjects,
    to_keep: KeptFields<'a>,
}

impl<'l, 'a> Conversion<'l, 'a> {
    /// Collects the values to keep, and lets objects stay if the values alone do not restore everything.
    fn settle(&mut self, kept: &KeptFields<'a>, stuck: &'l OnceCell<BitSet>, context: &mut Context<'_, '_>) {
        let mut kept_all = self.keep(context);
        for staying in [RetainedState::None, RetainedState::Emptied, RetainedState::All] {
            let Err(changed) = kept_all else { break };
            self.crossing.staying = staying;
            self.crossing.stuck = stuck.get_or_init(|| changed);
            self.crossed = self.crossing.run(&self.from, kept);
            kept_all = self.keep(context);
        }
    }

    fn read(&self, index: usize) -> &[Option<Json<'a>>] {
        self.from.of(&self.crossing.level.frontier, self.crossing.to.other(), index)
    }

    fn written(&self, index: usize) -> &[Option<Json<'a>>] {
        self.crossed.pieces.of(&self.crossing.level.frontier, self.crossing.to, index)
    }

    /// The projection back.
    fn reverse(&self, complete: bool) -> Projection<'_, 'a> {
        self.crossing.back(complete)
    }

    /// Returns whether the object will have a field in the version that is written.
    fn has(&self, root: &mut Json<'_>, field: &Required) -> bool {
        let frontier = &self.crossing.level.frontier;
        let pieces = &self.crossed.pieces;
        let mut branch = &frontier.root;
        let mut names = field.path.names();
        loop {
            match branch {
                Branch::Holder(holder) if pieces.holder(holder.index) != Presence::Object => {
                    return field.nullable && names.is_empty() && pieces.holder(holder.index) == Presence::Null;
                }
                Branch::Holder(holder) => match names.split_first() {
                    None => return true,
                    Some((name, rest)) => match holder.branch(name) {
                        Some((_, next)) => (branch, names) = (next, rest),
                        None => return tree::has(root, field),
                    },
                },
                Branch::Cut(index) => {
                    let part = frontier.cuts.get(*index).map(|cut| cut.parts.of(self.crossing.to));
                    return part
                        .is_some_and(|part| is_there(part, pieces.rest(*index), pieces, (names, field.nullable)));
                }
            }
        }
    }

    /// Keeps the values that the conversion back would not restore. If it still differs then, returns the shared
    /// objects that differ.
    fn keep(&mut self, context: &mut Context<'_, '_>) -> Result<(), BitSet> {
        self.to_keep = KeptFields::default();
        for (index, cut) in self.crossing.level.frontier.cuts.iter().enumerate() {
            if let Some(skeleton) = self.staying.skeleton(index).filter(|_| self.from.rest(index).is_none()) {
                self.to_keep.keep_rest(&cut.id, skeleton, false);
            }
        }
        let mut back = self.reverse(context.complete_on_return).run(&self.crossed.pieces, &self.to_keep);
        if context.complete_on_return && self.keep_what_is_made(&back.pieces) {
            back = self.reverse(context.complete_on_return).run(&self.crossed.pieces, &self.to_keep);
        }
        for round in 0..4 {
            *context.stays_for_waiting |= back.by_waiting;
            let reverse = self.keep_differences(&back, context, round);
            self.keep_what_is_shown();
            if reverse == RoundTripResult::Restored {
                return Ok(());
            }
            back = self.reverse(context.complete_on_return).run(&self.crossed.pieces, &self.to_keep);
        }
        let mut changed = BitSet::new();
        for (index, (was, now)) in self.from.holders.iter().zip(&back.pieces.holders).enumerate() {
            changed.insert_if(index, was != now);
        }
        Err(changed)
    }

    /// Keeps the differences of the conversion back.
    fn keep_differences(&mut self, back: &Projected<'a>, context: &Context<'_, '_>, round: usize) -> RoundTripResult {
        let Projected { pieces: back, by_values, .. } = back;
        let (frontier, side) = (&self.crossing.level.frontier, self.crossing.to.other());
        let (mut alike, mut adds) = (true, true);
        let unsaid = LazyCell::new(|| PendingDefaults::new(self.crossing.back(true), &self.from, back));
        for (index, operation) in self.crossing.level.operations.iter().enumerate() {
            let places = operation.places.of(side);
            let (was, now) = (self.from.of(frontier, side, index), back.of(frontier, side, index));
            let is_same = match operation.items() {
                // Items are compared one by one.
                Some(_) => kinds(was).eq(kinds(now)),
                None => identical(now, was),
            };
            if is_same || context.complete && unsaid.explains(index, (was, now), places) {
                continue;
            }
            alike = false;
            adds &= !was.iter().zip(now).any(|(was, now)| was.is_none() && now.is_some());
            if self.is_nothing_there(index, now) {
                adds = false;
                continue;
            }
            let became = self.crossed.pieces.of(frontier, self.crossing.to, index);
            keep_values(self.crossing, index, (was, became), &mut self.to_keep);
            let reverse = self.reverse(context.complete_on_return);
            adds &= reverse.returned(index, operation, &self.crossed.pieces, &self.to_keep).is_some();
        }
        // Restored values in existing objects affect no other value, unless an object exists because of them.
        let sure = adds && !by_values && !*frontier.fills_inside.of(side);
        for (index, cut) in frontier.cuts.iter().enumerate() {
            let (was, now) = (self.from.rest(index), back.rest(index));
            let is_same = match (was, now) {
                (None, None) => true,
                (Some(was), Some(now)) => is_identical(was, now),
                (None, Some(_)) => context.complete && unsaid.is_made(cut.holder),
                _ => false,
            };
            if is_same {
                continue;
            }
            alike = false;
            adds = false;
            match was {
                Some(rest) => {
                    let waits = self.staying.skeleton(index).is_some();
                    self.to_keep.keep_rest(&cut.id, rest.clone(), !waits && self.is_seen(cut));
                }
                None if self.from.is_held(cut.holder) => self.to_keep.keep(&cut.id, &[None], (&[None], &[])),
                None => {}
            }
        }
        let holders = || 0..self.from.holders.len();
        let is_made = |holder: usize| context.complete && unsaid.is_made(Some(holder));
        let differs = |holder: &usize| self.from.holder(*holder) != back.holder(*holder) && !is_made(*holder);
        if !holders().any(|holder| differs(&holder)) {
            return if alike || sure && adds { RoundTripResult::Restored } else { RoundTripResult::Unsure };
        }
        // With the kept values, most objects are restored. The state of the others must be recorded.
        if alike || round > 0 {
            self.keep_holders(&holders().filter(differs).collect::<Vec<_>>());
        }
        RoundTripResult::Unsure
    }

    /// Returns whether the version that is written shows a part of an object that only the other version has.
    fn is_seen(&self, cut: &SplitPoint) -> bool {
        let to = self.crossing.to;
        match cut.shown.of(to).is_empty() {
            false => self.is_shown(cut),
            true => {
                let instead = !matches!(cut.parts.of(to), Part::Unknown);
                instead && cut.parts.of(to.other()).any(&mut |slot| self.from.has(slot))
            }
        }
    }

    /// Returns whether the required fields of such an object are visible.
    fn is_shown(&self, cut: &SplitPoint) -> bool {
        cut.shown.of(self.crossing.to).iter().any(|slot| self.crossed.pieces.has(*slot))
    }

    /// Restricts kept values inside such an object to those that remain valid with the visible fields.
    fn keep_what_is_shown(&mut self) {
        let (level, side) = (self.crossing.level, self.crossing.to.other());
        for cut in &level.frontier.cuts {
            let (part, shown) = (cut.parts.of(side), cut.shown.of(side));
            let mut is_kept = |slot: usize| {
                let place = level.operation_of(side, slot).and_then(|operation| operation.places.of(side).first());
                !shown.contains(&slot) && place.is_some_and(|place| self.to_keep.holds(&place.id))
            };
            if matches!(part, Part::Object(_))
                && part.any(&mut is_kept)
                && !self.to_keep.has(&cut.id)
                && self.is_shown(cut)
            {
                self.to_keep.keep_rest(&cut.id, Json::Object(Default::default()), true);
            }
        }
    }

    /// Records that objects were absent if they equal the API server's default. An object inside of one that the
    /// conversion back would not create cannot be kept by itself: with the default `{inner: {size: 1}}` of
    /// `spec.outer`, such an object would return with `outer` alone without this record.
    fn keep_what_is_made(&mut self, back: &Pieces<'_>) -> bool {
        let (frontier, side) = (&self.crossing.level.frontier, self.crossing.to.other());
        let mut is_noted = false;
        for (index, holder) in frontier.holders.iter().enumerate() {
            let Some(made) = holder.fills.of(side) else { continue };
            let lacks = |inner: &usize| back.holder(*inner) == Presence::Absent;
            if back.holder(index) == Presence::Object
                && made.objects.iter().any(lacks)
                && self.reverse(true).is_as_made(index, made, &self.from)
            {
                self.to_keep.note_object_before(&holder.id, ObjectBefore::Absent);
                is_noted = true;
            }
        }
        is_noted
    }

    fn keep_holders(&mut self, differing: &[usize]) {
        let holders = &self.crossing.level.frontier.holders;
        for (index, holder) in differing.iter().filter_map(|index| Some((*index, holders.get(*index)?))) {
            let before = match self.from.holder(index) {
                Presence::Absent => ObjectBefore::Absent,
                Presence::Null => ObjectBefore::Null,
                Presence::Object => ObjectBefore::Empty,
                Presence::Other => continue,
            };
            self.to_keep.note_object_before(&holder.id, before);
        }
    }

    /// Returns whether a default that the conversion back fills into absent objects is absent here and there. The
    /// entries of those objects suffice, and may become invalid while this entry would not.
    fn is_nothing_there(&self, operation: usize, back: &[Option<Json<'_>>]) -> bool {
        let (frontier, side) = (&self.crossing.level.frontier, self.crossing.to.other());
        let first = frontier.slots.of(side).get(operation).copied().unwrap_or_default();
        let all = self.read(operation).iter().chain(self.written(operation));
        let held = |slot: usize| frontier.cut(side, slot).is_none_or(|cut| self.from.is_held(cut.holder));
        let mut made = (first..).zip(back).filter(|(_, value)| value.is_some());
        all.into_iter().all(Option::is_none) && made.all(|(slot, _)| !held(slot))
    }

    /// Records the effects of the operations.
    fn record_changes(&self, context: &mut Context<'_, '_>, here: &ErrorPath<'_>) {
        if !context.trace.is_on() {
            return;
        }
        let to = self.crossing.to;
        for (index, operation) in self.crossing.level.operations.iter().enumerate() {
            let (was, became) = (self.read(index), self.written(index));
            let path = |side: Side| operation.places.of(side).first().map(|place| &place.path);
            let kept = operation.places.of(to.other()).first().is_some_and(|place| self.to_keep.keeps(&place.id));
            if operation.items().is_some() {
                continue;
            }
            context.trace.record(|| {
                let change = Change::of(operation, to, was, became, here)?;
                let has_changed = path(Side::Older) != path(Side::Newer) || kept || !same(was, became);
                has_changed.then_some(Change { kept, given_back: self.crossed.given_back.contains(index), ..change })
            });
        }
        // Values without an operation in place of which the other version has a value of an operation.
        for cut in &self.crossing.level.frontier.cuts {
            let rest = self.to_keep.rest(&cut.id).filter(|rest| has_values(rest));
            context.trace.record(|| Some(Change::without_operation(here.below(&cut.id), rest?.to_text())));
        }
    }

    /// Converts lists and maps item by item.
    fn items(
        &mut self,
        context: &mut Context<'_, '_>,
        kept: &KeptFields<'a>,
        outer: &ErrorPath<'_>,
    ) -> Result<(), ConvertError> {
        let Projection { level, to, .. } = self.crossing;
        for (index, operation) in level.operations.iter().enumerate() {
            let Some(inside) = operation.items() else { continue };
            // A list from a default has no items to convert.
            if !matches!(self.read(index), [Some(_)]) {
                continue;
            }
            let places = operation.places.of(to.other()).first().zip(operation.places.of(to).first());
            let Some((here, there)) = places else { continue };
            let slot = level.frontier.slots.of(to).get(index).copied().unwrap_or_default();
            let Some(mut value) = self.crossed.pieces.slots.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            let list = ListOfItems { to, keys: &inside.keys, outer, id: &here.id };
            let item = there.schema.each.as_deref();
            let before = context.trace.is_on().then(|| (value.clone(), context.trace.len()));
            let mut convert = ItemConversion { level: &inside.level, item, context };
            let items = convert_items(&mut value, list, kept.items(&there.id), &mut convert)?;
            let keeps = items.is_some();
            if let Some(items) = items {
                self.to_keep.keep_items(&here.id, items);
            }
            if let Some((before, recorded)) = before {
                let moved = here.path != there.path;
                if moved {
                    context.trace.rename_written(recorded, &outer.below(&here.id), &outer.below(&there.id));
                }
                context.trace.record(|| {
                    let change = Change::of(operation, to, &[Some(before)], &[Some(value.clone())], outer)?;
                    (moved || keeps).then_some(Change { kept: keeps, ..change })
                });
            }
            if let Some(place) = self.crossed.pieces.slots.get_mut(slot) {
                *place = Some(value);
            }
        }
        Ok(())
    }
}

/// Keeps the values of an operation and their results. For an operation whose condition does not hold, a record
/// suffices if the operation alone restores the values.
fn keep_values<'a>(
    crossing: Projection<'_, 'a>,
    index: usize,
    (was, became): (&[Option<Json<'a>>], &[Option<Json<'a>>]),
    to_keep: &mut KeptFields<'a>,
) {
    let Projection { level, to, idle, .. } = crossing;
    let Some(operation) = level.operations.get(index) else { return };
    let Some(place) = operation.places.of(to.other()).first() else { return };
    let returns_unchanged = || {
        let reverse = mapped(operation, Side::Newer, became);
        let is_same = match operation.items() {
            Some(_) => kinds(was).eq(kinds(&reverse)),
            None => identical(&reverse, was),
        };
        // The conversion back runs the operation only then.
        is_same && identical(&mapped(operation, Side::Older, &reverse), became)
    };
    match to == Side::Older && idle.contains(index) && returns_unchanged() {
        true => to_keep.note_run(&place.id),
        false => to_keep.keep(&place.id, was, (became, operation.places.of(to))),
    }
}

/// Returns whether there is a value, apart from objects that stay for pending values.
fn has_values(value: &Json<'_>) -> bool {
    match value.type_name() {
        "object" => value.members().iter().any(|(_, value)| has_values(value)),
        _ => true,
    }
}

/// The operations on the items of a list or map.
struct ItemConversion<'i, 'c, 't, 'l> {
    level: &'l Level,
    /// The schema of an item in the version that is written.
    item: Option<&'l Schema>,
    context: &'i mut Context<'c, 't>,
}

impl<'l> ConvertItem<'l> for ItemConversion<'_, '_, '_, 'l> {
    fn convert<'a>(
        &mut self,
        item: &mut Json<'a>,
        kept: &KeptFields<'a>,
        here: &ErrorPath<'_>,
    ) -> Result<KeptFields<'a>, ConvertError>
    where
        'l: 'a,
    {
        self.context.check_awaited()?;
        convert(item, self.level, self.context, kept, here, None)
    }

    /// The API server keeps null items of a list, unlike null members of an object.
    fn is_omitted<'a>(&mut self, item: &Json<'a>) -> bool
    where
        'l: 'a,
    {
        let schema = self.item.unwrap_or(&ANYTHING);
        let is_item = schema.has_types_of(item) && (!item.is_null() || schema.can_be_null());
        is_item && self.is_lost_on_the_way_back(item.clone())
    }
}

impl<'l> ItemConversion<'_, '_, '_, 'l> {
    /// Returns whether the version that is read cannot represent an item of the version that is written.
    fn is_lost_on_the_way_back<'a>(&self, mut item: Json<'a>) -> bool
    where
        'l: 'a,
    {
        let (needed, mut stays, mut trace) = (Sides::default(), false, Trace::off());
        let mut context = Context {
            to: self.context.to.other(),
            needed: &needed,
            facts: self.context.facts.clone(),
            stays_for_waiting: &mut stays,
            trace: &mut trace,
            ..*self.context
        };
        let kept = KeptFields::default();
        convert(&mut item, self.level, &mut context, &kept, &ErrorPath::Object, None).is_ok() && item.is_hole()
    }
}

/// The result of the conversion back with the kept values.
#[derive(Eq, PartialEq)]
enum RoundTripResult {
    /// It restores the original.
    Restored,
    /// Unknown: the conversion back must be simulated.
    Unsure,
}

/// Returns whether a path through a split point has a value. Null may be allowed.
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
