//! The bytes that a definition adds to any object: values, defaults, longer names, and entries of the kept annotation.
//!
//! A list of 3 MB may contain a million times `{}`, and a definition may add ten fields to each item. The server
//! reserves memory before it parses a request, so it needs an upper bound of this growth.

use super::frontier::{Branch, Part};
use super::operation::{LEAST_MEMORY, Level, MEMORY, Operation};
use super::place::Place;
use super::side::Side;
use super::step::Step;

/// The maximum number of text bytes that the conversions of a kind add, from the oldest to the newest version.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Growth {
    /// Added to an object outside of its lists and maps, including its kept entries.
    pub(crate) object: Added,
    /// Added to each item of a list or map that is an object.
    pub(crate) item: Added,
    /// Added to each item that is not an object.
    pub(crate) value: Added,
    /// How many times the text of a list is written: once for each step that converts items.
    pub(crate) written: u64,
    /// The maximum nesting depth of the lists that are converted.
    pub(crate) deep: u64,
    /// The bytes that expressions add to each byte of an object.
    pub(crate) expanded: u64,
}

/// The bytes that are added to one object or item.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Added {
    /// Added in place.
    pub(crate) text: u64,
    /// Added to the annotation, excluding the kept values themselves.
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
    /// Returns the growth of all steps of one kind in sequence.
    pub(super) fn of(steps: &[Step]) -> Self {
        steps.iter().fold(Self::default(), |all, step| {
            let [up, down] = [Side::Newer, Side::Older].map(|to| Self::of_step(step, to));
            Self {
                object: all.object.and(up.object.or(down.object)),
                item: all.item.and(up.item.or(down.item)),
                value: all.value.and(up.value.or(down.value)),
                written: all.written + up.written.max(down.written),
                deep: all.deep.max(up.deep).max(down.deep),
                // Each step may expand the results of the step before.
                expanded: (1 + all.expanded) * (1 + up.expanded.max(down.expanded)) - 1,
            }
        })
    }

    /// Returns the maximum of several kinds, because the kind of the objects is unknown.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            object: self.object.or(other.object),
            item: self.item.or(other.item),
            value: self.value.or(other.value),
            written: self.written.max(other.written),
            deep: self.deep.max(other.deep),
            expanded: self.expanded.max(other.expanded),
        }
    }

    /// Returns how many extra copies of the text of an item may be in memory. A list that is converted is written to a
    /// new text while the old one still exists: one copy, plus one for each enclosing list including itself. Kept
    /// values of items are collected before their keys are known. That adds one copy for each step, because the kept
    /// values of earlier steps stay in memory.
    pub(crate) fn copies(&self) -> u64 {
        match self.deep {
            0 => 0,
            deep => 1 + deep + self.written,
        }
    }

    /// The memory of the expressions for the longest object, in bytes: the values during an evaluation, and the
    /// results.
    pub(crate) fn evaluated(&self, longest: u64) -> u64 {
        match self.expanded {
            0 => 0,
            // Each result is parsed, converted back, and kept.
            expanded => LEAST_MEMORY + longest * (MEMORY + RESULTS * expanded),
        }
    }

    fn of_step(step: &Step, to: Side) -> Self {
        let mut growth = Self { expanded: expanded(&step.level), ..Self::default() };
        growth.add_items(&step.level, to, 1);
        let status = if step.status.is_some() { STATUS } else { 0 };
        let own = added(&step.level, to);
        growth.object = Added { text: own.text + status, kept: own.kept + status + ANNOTATION };
        growth
    }

    /// Adds the growth of the items at a level and below. Each item is a separate part of a request at any depth, so of
    /// several levels the largest growth counts.
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

/// Returns the bytes that each byte of an object gains in the expressions of a level, or of the items inside.
fn expanded(level: &Level) -> u64 {
    let of =
        |operation: &Operation| operation.expands().max(operation.items().map_or(0, |items| expanded(&items.level)));
    level.operations.iter().map(of).max().unwrap_or_default()
}

/// Returns the bytes that one object or item gains at a level, for one direction.
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
    // Defaults that were filled in are recorded as well, so that they can be removed again.
    Added { kept: added.kept + added.text, ..added }
}

/// Returns the size of the names in a path and of the value that is filled in.
fn of_place(place: &Place) -> u64 {
    names(place.path.names()) + place.fill.as_ref().map_or(0, |fill| fill.size() as u64)
}

fn names(names: &[Box<str>]) -> u64 {
    names.iter().map(|name| name.len() as u64 + NAME).sum()
}

/// The number of copies of a result: computed, in the object, during the check conversion, and in the kept values.
const RESULTS: u64 = 6;

/// Size of the punctuation of a name and its object: `{"":},`.
const NAME: u64 = 6;

/// Size of the punctuation of an entry, with its escapes in the annotation: `\"\":{\"value\":,\"became\":},`.
const ENTRY: u64 = 42;

/// Size of the key of an item and the punctuation of its entries: `[12345678,\"0123456789ab\",{}],`.
const ITEM: u64 = 32;

/// Size of the annotation's name and the punctuation of its entries.
const ANNOTATION: u64 = 128;

/// Size of two hashes, two UUIDs, and the names of their fields.
const STATUS: u64 = 512;
