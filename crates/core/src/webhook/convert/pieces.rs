//! The pieces of an object on one side of a step, as far as operations concern it.

use std::collections::BTreeMap;

use smallvec::{SmallVec, smallvec};

use super::bit_set::BitSet;
use crate::definition::frontier::{Frontier, Part};
use crate::definition::{Path, Side};
use crate::json::Json;

/// The pieces of an object on one side. Two objects with equal pieces are equal, because other fields stay in place.
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    /// One value for each place of each operation. `None` is an absent value.
    pub(super) slots: Slots<'a>,
    /// The remainders at split points, if they do not follow from the slots.
    pub(super) rests: BTreeMap<usize, Json<'a>>,
    /// One for each shared object.
    pub(super) holders: Holders,
}

/// The values at the places. Few places need no allocation.
pub(super) type Slots<'a> = SmallVec<[Option<Json<'a>>; 16]>;

/// The state of the shared objects. Few objects need no allocation.
pub(super) type Holders = SmallVec<[Presence; 16]>;

/// The state of the place of an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Presence {
    Absent,
    Null,
    Object,
    /// Another value, in a part without a schema. It stays as it is.
    Other,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(slots: usize, holders: usize) -> Self {
        Self { slots: smallvec![None; slots], rests: BTreeMap::new(), holders: smallvec![Presence::Absent; holders] }
    }

    pub(super) fn holder(&self, holder: usize) -> Presence {
        self.holders.get(holder).copied().unwrap_or(Presence::Absent)
    }

    /// Returns whether a split point in this shared object is in an existing object. `None` is the root.
    pub(super) fn is_held(&self, holder: Option<usize>) -> bool {
        holder.is_none_or(|holder| self.holder(holder) == Presence::Object)
    }

    /// Returns whether a value that is no object stands in place of this shared object or of a parent.
    pub(super) fn is_blocked(&self, frontier: &Frontier, holder: Option<usize>) -> bool {
        frontier.around(holder).any(|holder| self.holder(holder) == Presence::Other)
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

    /// Returns whether there is a value at a split point.
    pub(super) fn has_cut(&self, cut: usize, part: &Part) -> bool {
        self.rest(cut).is_some() || part.any(&mut |slot| self.has(slot))
    }

    /// The state of an object of one version alone, below a split point.
    pub(super) fn inside(&self, cut: usize, part: &Part, path: &Path) -> Presence {
        match presence(self.rest(cut), path.names()) {
            Presence::Absent if part.at(path).is_some_and(|part| part.any(&mut |slot| self.has(slot))) => {
                Presence::Object
            }
            found => found,
        }
    }

    /// The slots in existing objects.
    pub(super) fn held(&self, frontier: &Frontier, side: Side) -> BitSet {
        let mut held = BitSet::new();
        for (index, cut) in frontier.cuts.iter().enumerate() {
            self.find_held(cut.parts.of(side), self.rest(index), self.is_held(cut.holder), &mut held);
        }
        held
    }

    /// `there`: the object that contains the part exists.
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

/// Returns whether a remainder equals that of an object with only these slots: only the parents of the slots.
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
