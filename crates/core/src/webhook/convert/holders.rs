//! Putting values back at the cuts of an object. Holders come and go as they are needed.
//!
//! ```text
//! spec: {}            puts `spec.net.port` = 80     spec: {net: {port: 80}}    made, and nothing is noted
//! spec: {net: {}}     puts `spec.net.port` = 80     spec: {net: {port: 80}}    noted: `spec.net` was empty
//! spec: {net: {·}}    puts nothing                  spec: {}                   if mapping back makes it again
//! ```

use super::cut::{Slots, is_some, must_be_an_object};
use super::error::ConvertError;
use super::kept::{Fields, Was};
use crate::definition::Side;
use crate::definition::frontier::{Branch, Frontier, Holder};
use crate::json::{Json, Members};

/// What is known of the holders of a level, one mark for each, when values are put back.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// A value in it was cut out.
    pub(super) cut: Vec<bool>,
    /// Mapping back puts a value into it, so that it is made again on the way home.
    pub(super) returns: Vec<bool>,
    /// What is kept belongs into it, and stays away if it is gone.
    pub(super) keeps: Vec<bool>,
    /// A value that mapping alone would not make is put into it.
    pub(super) given: Vec<bool>,
}

impl Marks {
    pub(super) fn new(holders: usize) -> Self {
        let none = || vec![false; holders];
        Self { cut: none(), returns: none(), keeps: none(), given: none() }
    }
}

fn marked(marks: &[bool], holder: &Holder) -> bool {
    marks.get(holder.index).copied().unwrap_or_default()
}

/// Puts values back at the cuts. Holders come and go as they are needed: one that is missing is made; one that is emptied
/// goes where mapping back makes it again. What that does not tell is noted.
pub(super) fn put<'a>(
    (frontier, to): (&Frontier, Side),
    root: &mut Json<'a>,
    (values, marks): (&mut Slots<'a>, &Marks),
    kept: &Fields<'_>,
    to_keep: &mut Fields<'a>,
    prefix: &str,
) -> Result<(), ConvertError> {
    match &frontier.root {
        Branch::Cut(cut) => {
            *root = values.get_mut(*cut).and_then(Option::take).unwrap_or(Json::HOLE);
            Ok(())
        }
        Branch::Holder(holder) => Put { to, values, marks, kept, to_keep, prefix }.holder(holder, root).map(drop),
    }
}

struct Put<'p, 'a, 'k> {
    to: Side,
    marks: &'p Marks,
    values: &'p mut Slots<'a>,
    kept: &'p Fields<'k>,
    to_keep: &'p mut Fields<'a>,
    prefix: &'p str,
}

impl<'a> Put<'_, 'a, '_> {
    /// Whether something is to be put into a holder.
    fn needs(&self, branch: &Branch) -> bool {
        match branch {
            Branch::Cut(cut) => is_some(self.values, *cut),
            Branch::Holder(holder) => self.needs_any(holder),
        }
    }

    fn needs_any(&self, holder: &Holder) -> bool {
        holder.branches.iter().any(|(_, branch)| self.needs(branch))
    }

    /// Whether a holder goes when it is emptied.
    fn goes(&self, holder: &Holder) -> bool {
        marked(&self.marks.cut, holder)
            && marked(&self.marks.returns, holder)
            && !marked(&self.marks.keeps, holder)
            && !holder.stays.of(self.to)
    }

    /// Whether a holder that values are put into here stays on the way home, when they are taken out and nothing is noted.
    fn stays_at_home(&self, holder: &Holder) -> bool {
        holder.path.is_empty() || marked(&self.marks.given, holder) || *holder.stays.of(self.to.other())
    }

    /// Returns whether the holder is empty afterwards.
    fn holder(&mut self, holder: &Holder, json: &mut Json<'a>) -> Result<bool, ConvertError> {
        if !json.is_object() {
            if !self.needs_any(holder) {
                return Ok(false);
            }
            if !json.is_null() {
                return Err(must_be_an_object(self.prefix, holder, json));
            }
            *json = Json::Object(Members::default());
            self.fill_holder(holder, json)?;
            self.to_keep.note_was(&holder.id, Was::Null);
            return Ok(false);
        }
        self.fill_holder(holder, json)
    }

    fn fill_holder(&mut self, holder: &Holder, json: &mut Json<'a>) -> Result<bool, ConvertError> {
        let Ok(Some(members)) = json.open() else { return Ok(false) };
        let empty = members.is_empty() && !marked(&self.marks.cut, holder);
        if empty && !self.stays_at_home(holder) && self.needs_any(holder) {
            self.to_keep.note_was(&holder.id, Was::Empty);
        }
        let mut seen = vec![false; holder.branches.len()];
        for (name, member) in members.iter_mut() {
            let Some((at, branch)) = holder.branch(name) else { continue };
            if let Some(seen) = seen.get_mut(at) {
                *seen = true;
            }
            match branch {
                Branch::Cut(cut) => {
                    if let Some(value) = self.values.get_mut(*cut).and_then(Option::take) {
                        *member = value;
                    }
                }
                Branch::Holder(inner) => {
                    if self.holder(inner, member)? {
                        match self.kept.was(&inner.id) {
                            Some(Was::Absent) => *member = Json::HOLE,
                            Some(Was::Null) => *member = Json::NULL,
                            Some(Was::Empty) => {}
                            None if self.goes(inner) => *member = Json::HOLE,
                            None => {}
                        }
                    }
                }
            }
        }
        for ((name, branch), seen) in holder.branches.iter().zip(seen) {
            if seen || !self.needs(branch) {
                continue;
            }
            let mut made = Json::Object(Members::default());
            match branch {
                Branch::Cut(cut) => match self.values.get_mut(*cut).and_then(Option::take) {
                    Some(value) => made = value,
                    None => continue,
                },
                Branch::Holder(inner) => {
                    self.holder(inner, &mut made)?;
                    match self.stays_at_home(inner) {
                        true => self.to_keep.note_was(&inner.id, Was::Absent),
                        false => self.to_keep.forget(&inner.id),
                    }
                }
            }
            members.set(name, made);
        }
        members.close_holes();
        Ok(members.is_empty())
    }
}
