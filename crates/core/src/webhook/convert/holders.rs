//! Putting an object together again, in the place of what was cut out of it.

use super::bit_set::BitSet;
use super::joined::join;
use super::pieces::{Pieces, Presence};
use crate::definition::Side;
use crate::definition::frontier::{Branch, Frontier, Holder};
use crate::json::{Json, Members};

/// Puts the pieces of a side into an object that others were taken out of. What stands where something was cut out
/// stands in its place.
pub(super) fn put<'a>(frontier: &Frontier, to: Side, root: &mut Json<'a>, pieces: Pieces<'a>) {
    let Pieces { mut slots, rests: mut values, holders } = pieces;
    for (cut, value) in frontier.cuts.iter().zip(&mut values) {
        *value = join(cut.parts.of(to), value.take(), &mut slots);
    }
    match &frontier.root {
        Branch::Cut(cut) => *root = values.get_mut(*cut).and_then(Option::take).unwrap_or(Json::HOLE),
        Branch::Holder(holder) => put_holder(holder, root, &mut values, &holders),
    }
}

fn put_holder<'a>(holder: &Holder, json: &mut Json<'a>, values: &mut [Option<Json<'a>>], holders: &[Presence]) {
    match holders.get(holder.index) {
        Some(Presence::Object) => {}
        Some(Presence::Null) => {
            *json = Json::NULL;
            return;
        }
        Some(Presence::Absent) | None => {
            *json = Json::HOLE;
            return;
        }
    }
    if !json.is_object() {
        *json = Json::Object(Members::default());
    }
    let Ok(Some(members)) = json.open() else { return };
    let mut seen = BitSet::default();
    for (name, member) in members.iter_mut() {
        let Some((at, branch)) = holder.branch(name) else { continue };
        seen.insert(at);
        match branch {
            Branch::Cut(cut) => *member = values.get_mut(*cut).and_then(Option::take).unwrap_or(Json::HOLE),
            Branch::Holder(inner) => put_holder(inner, member, values, holders),
        }
    }
    for (_, (name, branch)) in holder.branches.iter().enumerate().filter(|(at, _)| !seen.contains(*at)) {
        let mut made = Json::HOLE;
        match branch {
            Branch::Cut(cut) => made = values.get_mut(*cut).and_then(Option::take).unwrap_or(Json::HOLE),
            Branch::Holder(inner) => put_holder(inner, &mut made, values, holders),
        }
        if !made.is_hole() {
            members.add(name.to_string(), made);
        }
    }
    members.close_holes();
}
