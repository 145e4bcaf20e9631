//! Cutting an object along the frontier of a step, and taking the values at the cuts apart.
//!
//! Nothing here knows what operations do. [`take`] leaves holes where values were, so that what comes back stands where it
//! stood; [`Found::split`] takes a cut value apart into the operations' slots and a remainder.
//!
//! With `rename: {from: spec.owner.name, to: spec.owner}` going up, from `spec: {owner: {name: bob, team: x}, size: 3}`:
//!
//! ```text
//! take     spec: {owner: ·, size: 3}    cut `spec.owner` = {name: bob, team: x}
//! split    slot 0 = bob                 remainder = {team: x}
//! ```

use super::error::ConvertError;
use super::paths::join;
use crate::definition::frontier::{Branch, Frontier, Holder, Part};
use crate::json::{Duplicate, Json};

/// What is at the slots of one side; `None` is absence.
pub(super) type Slots<'a> = Vec<Option<Json<'a>>>;

/// An object with its cut values taken out.
pub(super) struct Taken<'a> {
    /// One for each cut of the frontier.
    pub(super) values: Slots<'a>,
    /// Which holders were objects.
    holders: Vec<bool>,
}

impl Taken<'_> {
    pub(super) fn is_object(&self, holder: usize) -> bool {
        self.holders.get(holder).copied().unwrap_or_default()
    }
}

/// Takes the values at the cuts out of an object.
pub(super) fn take<'a>(frontier: &Frontier, root: &mut Json<'a>, prefix: &str) -> Result<Taken<'a>, ConvertError> {
    let mut taken =
        Taken { values: frontier.cuts.iter().map(|_| None).collect(), holders: vec![false; frontier.holders.len()] };
    take_branch(&frontier.root, root, &mut taken, prefix)?;
    Ok(taken)
}

fn take_branch<'a>(
    branch: &Branch,
    json: &mut Json<'a>,
    taken: &mut Taken<'a>,
    prefix: &str,
) -> Result<(), ConvertError> {
    let holder = match branch {
        Branch::Cut(cut) => {
            if let Some(value) = taken.values.get_mut(*cut) {
                *value = Some(std::mem::replace(json, Json::HOLE));
            }
            return Ok(());
        }
        Branch::Holder(holder) => holder,
    };
    let null = json.is_null();
    let is_object = match json.open() {
        Ok(Some(members)) => {
            for (name, member) in members.iter_mut() {
                if let Some((_, branch)) = holder.branch(name) {
                    take_branch(branch, member, taken, prefix)?;
                }
            }
            true
        }
        Ok(None) if null => false,
        Ok(None) => return Err(must_be_an_object(prefix, holder, json)),
        Err(twice) => {
            return Err(ConvertError::named_twice(&place(prefix, holder), twice));
        }
    };
    if let Some(slot) = taken.holders.get_mut(holder.index) {
        *slot = is_object;
    }
    Ok(())
}

/// A holder is something else than an object.
pub(super) fn must_be_an_object(prefix: &str, holder: &Holder, json: &Json<'_>) -> ConvertError {
    not_an_object(&place(prefix, holder), json)
}

fn not_an_object(path: &str, json: &Json<'_>) -> ConvertError {
    ConvertError::NotAnObject { path: path.to_owned(), found: json.a_type_name() }
}

/// How a holder is named in messages.
fn place(prefix: &str, holder: &Holder) -> String {
    match (prefix.is_empty(), holder.path.is_empty()) {
        (true, true) => "object".to_owned(),
        _ => holder.path.after(prefix),
    }
}

/// What was at the slots of one side.
pub(super) struct Found<'a> {
    pub(super) values: Slots<'a>,
    /// Whether the object that a slot is in was there.
    pub(super) held: Vec<bool>,
}

impl<'a> Found<'a> {
    pub(super) fn new(slots: usize) -> Self {
        Self { values: vec![None; slots], held: vec![false; slots] }
    }

    /// Takes a cut value apart: what is at slots goes there, the remainder is returned. `at` names the cut in messages.
    pub(super) fn split(
        &mut self,
        part: &Part,
        value: Option<Json<'a>>,
        held: bool,
        at: &dyn Fn() -> String,
    ) -> Result<Option<Json<'a>>, ConvertError> {
        match part {
            Part::Unknown => Ok(value),
            Part::Slot(slot) => {
                if let Some(place) = self.values.get_mut(*slot) {
                    *place = value;
                }
                if let Some(place) = self.held.get_mut(*slot) {
                    *place = held;
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
                for (name, part) in parts {
                    let inner = members.get_mut(name).map(|member| std::mem::replace(member, Json::HOLE));
                    if let Some(rest) = self.split(part, inner, true, &|| join(&at(), name))? {
                        members.set(name, rest);
                    }
                }
                members.close_holes();
                Ok(Some(value))
            }
        }
    }
}

/// Whether a remainder is what an object with these slots filled would have left by itself: the objects on the way to
/// them, and nothing else. Such a remainder is not worth keeping.
pub(super) fn is_natural(part: &Part, rest: Option<&Json<'_>>, slots: &Slots<'_>) -> bool {
    let Part::Object(parts) = part else { return rest.is_none() };
    let present = part.any(&mut |slot| is_some(slots, slot));
    let Some(rest) = rest else { return !present };
    if !present || !rest.is_object() {
        return false;
    }
    let members = rest.members();
    let expected =
        parts.iter().filter(|(_, part)| matches!(part, Part::Object(_)) && part.any(&mut |slot| is_some(slots, slot)));
    members.len() == expected.clone().count()
        && expected.into_iter().all(|(name, part)| {
            let inner = members.iter().find(|(other, _)| **other == **name);
            inner.is_some_and(|(_, inner)| is_natural(part, Some(inner), slots))
        })
}

pub(super) fn is_some(slots: &Slots<'_>, slot: usize) -> bool {
    slots.get(slot).is_some_and(Option::is_some)
}

/// Finds the slots whose object is there when only some slots are filled.
pub(super) fn held(part: &Part, there: bool, filled: &mut dyn FnMut(usize) -> bool, found: &mut dyn FnMut(usize)) {
    match part {
        Part::Object(parts) => {
            let there = there || part.any(filled);
            parts.iter().for_each(|(_, part)| held(part, there, filled, found));
        }
        Part::Slot(slot) if there => found(*slot),
        Part::Slot(_) | Part::Unknown => {}
    }
}
