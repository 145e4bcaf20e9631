//! How much a definition adds to objects by itself, whatever is in them: values, defaults, names that are longer, and
//! what is told in an annotation of what stood there.
//!
//! A list of 3 MB may be a million times `{}`, and a definition may give each of these ten fields. So the server, which
//! puts aside memory before it looks into a request, has to know of the definitions what they give.

use super::frontier::{Branch, Part};
use super::operation::{Level, Operation};
use super::place::Place;
use super::side::Side;
use super::step::Step;

/// The most bytes of text that the conversions of a kind add, from one end to the other.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Growth {
    /// To an object, outside of its lists and maps, with what is kept there.
    pub(crate) object: Added,
    /// To each item that is an object, of whichever list or map.
    pub(crate) item: Added,
    /// To each item that is none.
    pub(crate) value: Added,
    /// How many times the text of a list is written on the way: once for each step that takes lists apart.
    pub(crate) written: u64,
    /// How deep the lists that are taken apart stand one in the other, where that is deepest.
    pub(crate) deep: u64,
}

/// What is added to one object or item.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Added {
    /// Where it stands.
    pub(crate) text: u64,
    /// In the annotation, beside the values that are kept.
    pub(crate) kept: u64,
}

impl Added {
    fn and(self, other: Self) -> Self {
        Self { text: self.text + other.text, kept: self.kept + other.kept }
    }

    fn or(self, other: Self) -> Self {
        Self { text: self.text.max(other.text), kept: self.kept.max(other.kept) }
    }
}

impl Growth {
    /// Of the steps of one kind, one after the other.
    pub(super) fn of(steps: &[Step]) -> Self {
        steps.iter().fold(Self::default(), |all, step| {
            let [up, down] = [Side::Newer, Side::Older].map(|to| Self::of_step(step, to));
            Self {
                object: all.object.and(up.object.or(down.object)),
                item: all.item.and(up.item.or(down.item)),
                value: all.value.and(up.value.or(down.value)),
                written: all.written + up.written.max(down.written),
                deep: all.deep.max(up.deep).max(down.deep),
            }
        })
    }

    /// The most of several kinds: it is not known whose objects come.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            object: self.object.or(other.object),
            item: self.item.or(other.item),
            value: self.value.or(other.value),
            written: self.written.max(other.written),
            deep: self.deep.max(other.deep),
        }
    }

    /// How often a text in an item may stand in memory beside the copies that are made of any other text. A list that
    /// is taken apart is written into a text of its own while the one that is read still stands: one copy, and one more
    /// for each list that it is in, with itself. And what is kept of items is collected before it is known how they are
    /// told apart: one copy for each step, as what the steps before it keep is held meanwhile.
    pub(crate) fn copies(&self) -> u64 {
        match self.deep {
            0 => 0,
            deep => 1 + deep + self.written,
        }
    }

    fn of_step(step: &Step, to: Side) -> Self {
        let mut growth = Self::default();
        growth.add_items(&step.level, to, 1);
        let status = if step.status.is_some() { STATUS } else { 0 };
        let own = added(&step.level, to);
        growth.object = Added { text: own.text + status, kept: own.kept + status + ANNOTATION };
        growth
    }

    /// Adds what the items at a level are given, and theirs. Each stands for itself in a request, however deep, so that
    /// of several levels that counts which gives most.
    fn add_items(&mut self, level: &Level, to: Side, depth: u64) {
        for items in level.operations.iter().filter_map(Operation::items) {
            let own = added(&items.level, to);
            let item = Added { kept: own.kept + ITEM, ..own };
            match items.level.frontier.root {
                Branch::Holder(_) => self.item = self.item.or(item),
                Branch::Cut(_) => self.value = self.value.or(item),
            }
            self.written = 1;
            self.deep = self.deep.max(depth);
            self.add_items(&items.level, to, depth + 1);
        }
    }
}

/// What one object or item is given at a level, on the way to a side.
fn added(level: &Level, to: Side) -> Added {
    let frontier = &level.frontier;
    let mut added = Added::default();
    for operation in &level.operations {
        for place in operation.places.of(to) {
            added.text += of_place(place) + operation.adds(to);
        }
        let first = operation.places.of(to.other()).first();
        added.kept += first.map_or(0, |place| place.id.len() as u64 + ENTRY);
    }
    for holder in &frontier.holders {
        added.kept += holder.id.len() as u64 + ENTRY;
        let made = holder.fills.of(to).iter().flat_map(|made| &made.cuts);
        added.text += made.map(|(_, value)| value.size() as u64 + holder.id.len() as u64 + NAME).sum::<u64>();
    }
    for cut in &frontier.cuts {
        if !matches!((&cut.parts.older, &cut.parts.newer), (Part::Slot(_), Part::Slot(_))) {
            added.kept += cut.id.len() as u64 + ENTRY;
        }
        let made = cut.fills.of(to).iter();
        added.text += made.map(|(path, value)| value.size() as u64 + names(path.names())).sum::<u64>();
    }
    // What was made up is told as well, that it may go again.
    Added { kept: added.kept + added.text, ..added }
}

/// The names on the way to a place, and what is filled in there.
fn of_place(place: &Place) -> u64 {
    names(place.path.names()) + place.fill.as_ref().map_or(0, |fill| fill.size() as u64)
}

fn names(names: &[Box<str>]) -> u64 {
    names.iter().map(|name| name.len() as u64 + NAME).sum()
}

/// What is around a name and the object that it is in: `{"":},`.
const NAME: u64 = 6;

/// What is around the values of an entry, and its escapes in the annotation: `\"\":{\"value\":,\"became\":},`.
const ENTRY: u64 = 42;

/// What tells an item apart, and is around its entries: `[12345678,\"0123456789ab\",{}],`.
const ITEM: u64 = 32;

/// The name of the annotation, and what is around its entries.
const ANNOTATION: u64 = 128;

/// Two hashes, two UUIDs, and the names of where they stand.
const STATUS: u64 = 512;
