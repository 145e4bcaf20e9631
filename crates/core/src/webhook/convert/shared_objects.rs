//! Puts pieces back into an object, in place of those that were taken out.

use super::bit_set::BitSet;
use super::join::join;
use super::pieces::{Pieces, Presence};
use crate::definition::Side;
use crate::definition::frontier::{Branch, Frontier, SharedObject};
use crate::json::{Json, Members};

/// Puts the pieces of a side into an object with holes. Values in place of removed values keep their position.
pub(super) fn put<'a>(frontier: &'a Frontier, to: Side, root: &mut Json<'a>, pieces: Pieces<'a>) {
    let mut putting = Putting { frontier, to, pieces };
    match &frontier.root {
        Branch::Cut(cut) => *root = putting.value(*cut),
        Branch::Holder(holder) => putting.put_holder(holder, root),
    }
}

struct Putting<'a> {
    frontier: &'a Frontier,
    to: Side,
    pieces: Pieces<'a>,
}

impl<'a> Putting<'a> {
    /// The value at a split point, or a hole.
    fn value(&mut self, cut: usize) -> Json<'a> {
        let Pieces { slots, rests, .. } = &mut self.pieces;
        let part = self.frontier.cuts.get(cut).map(|cut| cut.parts.of(self.to));
        part.and_then(|part| join(part, rests.remove(&cut), slots)).unwrap_or(Json::HOLE)
    }

    fn put_holder(&mut self, holder: &'a SharedObject, json: &mut Json<'a>) {
        match self.pieces.holder(holder.index) {
            Presence::Object => {}
            Presence::Other => return,
            Presence::Null => {
                *json = Json::NULL;
                return;
            }
            Presence::Absent => {
                *json = Json::HOLE;
                return;
            }
        }
        if !json.is_object() {
            *json = Json::Object(Members::default());
        }
        let Ok(Some(members)) = json.open() else { return };
        let mut seen = BitSet::new();
        for (name, member) in members.iter_mut() {
            let Some((at, branch)) = holder.branch(name) else { continue };
            seen.insert(at);
            match branch {
                Branch::Cut(cut) => *member = self.value(*cut),
                Branch::Holder(inner) => self.put_holder(inner, member),
            }
        }
        for (_, (name, branch)) in holder.branches.iter().enumerate().filter(|(at, _)| !seen.contains(*at)) {
            let mut made = Json::HOLE;
            match branch {
                Branch::Cut(cut) => made = self.value(*cut),
                Branch::Holder(inner) => self.put_holder(inner, &mut made),
            }
            if !made.is_hole() {
                members.add(&**name, made);
            }
        }
        members.close_holes();
    }
}
