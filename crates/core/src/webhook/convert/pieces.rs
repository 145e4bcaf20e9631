//! What an object of one side of a step consists of, as far as the step's operations are about it.

use std::collections::BTreeMap;

use smallvec::{SmallVec, smallvec};

use super::bit_set::BitSet;
use crate::definition::frontier::{Frontier, Part};
use crate::definition::{Path, Side};
use crate::json::Json;

/// What an object of one side consists of. Two that are alike here are alike altogether: what no operation is about
/// stays where it is.
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    /// One for each place of each operation; `None` is absence.
    pub(super) slots: Slots<'a>,
    /// By the cut: what no operation names in the value there, if that does not follow from the slots.
    pub(super) rests: BTreeMap<usize, Json<'a>>,
    /// One for each holder.
    pub(super) holders: Holders,
}

/// What is at each place; of few places without an allocation.
pub(super) type Slots<'a> = SmallVec<[Option<Json<'a>>; 16]>;

/// What is where each holder may be; of few holders without an allocation.
pub(super) type Holders = SmallVec<[Presence; 16]>;

/// What is where an object may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Presence {
    Absent,
    Null,
    Object,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(slots: usize, holders: usize) -> Self {
        Self { slots: smallvec![None; slots], rests: BTreeMap::new(), holders: smallvec![Presence::Absent; holders] }
    }

    pub(super) fn holder(&self, holder: usize) -> Presence {
        self.holders.get(holder).copied().unwrap_or(Presence::Absent)
    }

    /// Whether a cut in this holder is in an object. There is no holder where the root is cut.
    pub(super) fn is_held(&self, holder: Option<usize>) -> bool {
        holder.is_none_or(|holder| self.holder(holder) == Presence::Object)
    }

    pub(super) fn rest(&self, cut: usize) -> Option<&Json<'a>> {
        self.rests.get(&cut)
    }

    pub(super) fn has(&self, slot: usize) -> bool {
        is_some(&self.slots, slot)
    }

    /// The values of an operation.
    pub(super) fn of(&self, frontier: &Frontier, side: Side, operation: usize) -> &[Option<Json<'a>>] {
        match frontier.slots.of(side).get(operation..operation + 2) {
            Some([first, end]) => self.slots.get(*first..*end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Whether there is something at a cut.
    pub(super) fn has_cut(&self, cut: usize, part: &Part) -> bool {
        self.rest(cut).is_some() || part.any(&mut |slot| self.has(slot))
    }

    /// What is where an object may be that one version alone has, below a cut.
    pub(super) fn inside(&self, cut: usize, part: &Part, path: &Path) -> Presence {
        match presence(self.rest(cut), path.names()) {
            Presence::Absent if part.at(path).is_some_and(|part| part.any(&mut |slot| self.has(slot))) => {
                Presence::Object
            }
            found => found,
        }
    }

    /// Which slots are in an object that is there.
    pub(super) fn held(&self, frontier: &Frontier, side: Side) -> BitSet {
        let mut held = BitSet::new();
        for (index, cut) in frontier.cuts.iter().enumerate() {
            self.find_held(cut.parts.of(side), self.rest(index), self.is_held(cut.holder), &mut held);
        }
        held
    }

    /// `there`: the object that holds the part is there.
    fn find_held(&self, part: &Part, rest: Option<&Json<'_>>, there: bool, held: &mut BitSet) {
        match part {
            Part::Unknown => {}
            Part::Slot(slot) => held.insert_if(*slot, there),
            Part::Object(parts) => {
                let there = rest.is_some_and(Json::is_object) || part.any(&mut |slot| self.has(slot));
                for (name, part) in parts {
                    let inner = rest.and_then(|rest| rest.get(name));
                    self.find_held(part, inner.as_ref(), there, held);
                }
            }
        }
    }
}

fn presence(json: Option<&Json<'_>>, names: &[Box<str>]) -> Presence {
    match (json, names.split_first()) {
        (None, _) => Presence::Absent,
        (Some(json), Some((name, rest))) => presence(json.get(name).as_ref(), rest),
        (Some(json), None) if json.is_null() => Presence::Null,
        (Some(_), None) => Presence::Object,
    }
}

pub(super) fn is_some(slots: &[Option<Json<'_>>], slot: usize) -> bool {
    slots.get(slot).is_some_and(Option::is_some)
}

/// Whether a remainder is what an object with these slots filled would have left by itself: the objects on the way to
/// them, and nothing else.
pub(super) fn is_natural(part: &Part, rest: Option<&Json<'_>>, slots: &[Option<Json<'_>>]) -> bool {
    let Part::Object(parts) = part else { return rest.is_none() };
    let present = part.any(&mut |slot| is_some(slots, slot));
    let Some(rest) = rest else { return !present };
    if !present || !rest.is_object() {
        return false;
    }
    let members = rest.members();
    let expected =
        parts.iter().filter(|(_, part)| matches!(part, Part::Object(_)) && part.any(&mut |slot| is_some(slots, slot)));
    members.iter().all(|(name, inner)| {
        let mut expected = expected.clone();
        expected.any(|(other, part)| **other == **name && is_natural(part, Some(inner), slots))
    })
}
