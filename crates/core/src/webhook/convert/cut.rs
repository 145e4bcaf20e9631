//! Splits an object at the split points of a step, and separates the values there.
//!
//! This module is independent of the operations. [`take`] leaves holes in place of values, so that restored values keep
//! their position.
//!
//! With `rename: {from: spec.owner.name, to: spec.owner}` in a conversion up, from `spec: {owner: {name: bob, team: x},
//! size: 3}`:
//!
//! ```text
//! take     spec: {owner: ·, size: 3}    cut `spec.owner` = {name: bob, team: x}
//! split    slot 0 = bob                 remainder = {team: x}
//! ```

use smallvec::{SmallVec, smallvec};

use super::bit_set::BitSet;
use super::error::ConvertError;
use super::paths::{ErrorPath, join};
use super::pieces::{Holders, Pieces, Presence, is_natural};
use crate::definition::Side;
use crate::definition::frontier::{Branch, Frontier, Part, SharedObject, position};
use crate::json::{Duplicate, Json};

/// The result of [`take`].
pub(super) struct TakenOut<'a> {
    /// The values at split points, by index of the split point.
    values: SmallVec<[(usize, Json<'a>); 8]>,
    holders: Holders,
    /// The shared objects that contain fields without an operation. Those fields stay.
    pub(super) others: BitSet,
}

impl<'a> TakenOut<'a> {
    /// Returns whether no field of an operation was present.
    pub(super) fn is_nothing(&self) -> bool {
        self.values.is_empty()
    }

    /// The separated values at the split points.
    pub(super) fn into_pieces(
        self,
        frontier: &Frontier,
        side: Side,
        here: &ErrorPath<'_>,
    ) -> Result<(Pieces<'a>, BitSet), ConvertError> {
        let slots = frontier.slots.of(side).last().copied().unwrap_or_default();
        let mut pieces = Pieces::new(slots, 0);
        pieces.holders = self.holders;
        for (index, value) in self.values {
            let Pieces { slots, rests, .. } = &mut pieces;
            let Some(cut) = frontier.cuts.get(index) else { continue };
            let at = || match cut.id.as_str() {
                "." => here.spelled(),
                id => here.below(id),
            };
            let part = cut.parts.of(side);
            let rest = split(part, Some(value), slots, &at)?;
            rests.extend(rest.filter(|rest| !is_natural(part, Some(rest), slots)).map(|rest| (index, rest)));
        }
        Ok((pieces, self.others))
    }
}

/// Takes the fields of operations out of an object.
pub(super) fn take<'a>(
    frontier: &Frontier,
    root: &mut Json<'a>,
    here: &ErrorPath<'_>,
) -> Result<TakenOut<'a>, ConvertError> {
    let holders = smallvec![Presence::Absent; frontier.holders.len()];
    let mut taken = TakenOut { values: SmallVec::new(), holders, others: BitSet::new() };
    take_branch(&frontier.root, root, &mut taken, here)?;
    // In the order of the split points, so that the first of several errors is reported.
    taken.values.sort_unstable_by_key(|(cut, _)| *cut);
    Ok(taken)
}

fn take_branch<'a>(
    branch: &Branch,
    json: &mut Json<'a>,
    taken: &mut TakenOut<'a>,
    here: &ErrorPath<'_>,
) -> Result<(), ConvertError> {
    let holder = match branch {
        Branch::Cut(cut) => {
            taken.values.push((*cut, std::mem::replace(json, Json::HOLE)));
            return Ok(());
        }
        Branch::Holder(holder) => holder,
    };
    let null = json.is_null();
    let mut others = false;
    let presence = match json.open() {
        Ok(Some(members)) => {
            for (name, member) in members.iter_mut() {
                match holder.branch(name) {
                    Some((_, branch)) => take_branch(branch, member, taken, here)?,
                    None => others = true,
                }
            }
            Presence::Object
        }
        Ok(None) if null => Presence::Null,
        Ok(None) if holder.is_schemaless => Presence::Other,
        Ok(None) => return Err(not_an_object(&place(here, holder), json)),
        Err(twice) => {
            return Err(ConvertError::named_twice(&place(here, holder), twice));
        }
    };
    if let Some(slot) = taken.holders.get_mut(holder.index) {
        *slot = presence;
    }
    taken.others.insert_if(holder.index, others);
    Ok(())
}

fn not_an_object(path: &str, json: &Json<'_>) -> ConvertError {
    ConvertError::NotAnObject { path: path.to_owned(), found: json.a_type_name() }
}

/// The name of a shared object in messages.
fn place(here: &ErrorPath<'_>, holder: &SharedObject) -> String {
    match (here.is_object(), holder.path.is_empty()) {
        (true, true) => "object".to_owned(),
        _ => holder.path.after(&here.spelled()),
    }
}

/// Separates a value at a split point: fills the empty slots and returns the remainder. `at` names the split point in
/// messages.
pub(super) fn split<'a>(
    part: &Part,
    value: Option<Json<'a>>,
    slots: &mut [Option<Json<'a>>],
    at: &dyn Fn() -> String,
) -> Result<Option<Json<'a>>, ConvertError> {
    match part {
        Part::Unknown => Ok(value),
        Part::Slot(slot) => {
            if let Some(place) = slots.get_mut(*slot) {
                *place = value;
            }
            Ok(None)
        }
        Part::Object(parts) => {
            let Some(mut value) = value else { return Ok(None) };
            let opened = value.open();
            let twice = |twice: Duplicate| ConvertError::named_twice(&at(), twice);
            let Some(members) = opened.map_err(twice)? else {
                return if value.is_null() { Ok(Some(value)) } else { Err(not_an_object(&at(), &value)) };
            };
            for (name, member) in members.iter_mut() {
                let Some((_, part)) = position(parts, name).and_then(|at| parts.get(at)) else { continue };
                let inner = std::mem::replace(member, Json::HOLE);
                if let Some(rest) = split(part, Some(inner), slots, &|| join(&at(), name))? {
                    *member = rest;
                }
            }
            members.close_holes();
            Ok(Some(value))
        }
    }
}

/// Returns whether a value is empty at the places of operations, which have their own entries.
pub(super) fn is_remainder(part: &Part, rest: &Json<'_>, slots: usize) -> bool {
    let Part::Object(_) = part else { return true };
    let mut found = vec![None; slots];
    split(part, Some(rest.clone()), &mut found, &String::new).is_ok() && found.iter().all(Option::is_none)
}
