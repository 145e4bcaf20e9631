//! One operation applied to one object: the values it read, the values it writes, and what must be kept of them.

use super::kept::{Kept, identical, same};
use super::{change::Change, context::Context, tree};
use crate::definition::{Fragment, Operation, Place, Side};
use crate::json::Json;

/// An operation with its values.
pub(super) struct Applied<'l, 'a> {
    pub(super) operation: &'l Operation,
    /// The values that were read, one for each place.
    pub(super) before: Fragment<'a>,
    /// The values to write, one for each place.
    pub(super) after: Fragment<'a>,
    /// The values to write were kept in the annotation.
    pub(super) given_back: bool,
    /// What the items of a list or map keep.
    pub(super) items: Option<Json<'a>>,
}

impl<'l, 'a> Applied<'l, 'a> {
    /// Gives back what was kept, or maps what was read.
    pub(super) fn new(
        operation: &'l Operation,
        before: Fragment<'a>,
        to: Side,
        kept: &Kept<'_>,
    ) -> Self {
        let places = operation.places.of(to);
        let kept = places.first().and_then(|place| kept.give_back(&place.id, places, &before));
        let given_back = kept.is_some();
        let after = kept.unwrap_or_else(|| operation.map(to, &before));
        Self { operation, before, after, given_back, items: None }
    }

    /// Keeps what would not come back by itself, and tells what changed.
    pub(super) fn keep(
        mut self,
        root: &mut Json<'a>,
        context: &mut Context<'_, '_>,
        to_keep: &mut Kept<'a>,
        prefix: &str,
    ) {
        let from = context.to.other();
        let mut keeps = false;
        if let Some(place) = self.operation.places.of(from).first() {
            if let Some(items) = self.items.take() {
                to_keep.add(&place.id, |entry| entry.each = Some(items));
                keeps = true;
            } else if self.operation.items().is_none()
                && !identical(&self.way_back(root, from, context.complete), &self.before)
            {
                to_keep.keep(&place.id, &self.before, &self.after);
                keeps = true;
            }
        }
        context.trace.tell(|| self.change(context.to, keeps, prefix));
    }

    /// What the values would be after the way back, if nothing were kept.
    fn way_back(&self, root: &mut Json<'a>, from: Side, complete: bool) -> Fragment<'a> {
        let places = self.operation.places.of(from);
        let mut back = self.operation.map(from, &self.after);
        for ((value, place), before) in back.iter_mut().zip(places).zip(&self.before) {
            // A complete object has its defaults: one that is missing was not filled in yet, which says nothing.
            let holder = place.path.parent().is_some_and(|parent| tree::is_object(root, &parent));
            if value.is_none()
                && complete
                && holder
                && (before.is_some() || !(place.required || place.fills_default()))
            {
                value.clone_from(&place.fill);
            }
        }
        back
    }

    /// The change for people. `None` if the same stands where it stood.
    fn change(&self, to: Side, kept: bool, prefix: &str) -> Option<Change> {
        let (read, written) = (self.operation.places.of(to.other()), self.operation.places.of(to));
        let moved =
            read.first().map(|place| &place.path) != written.first().map(|place| &place.path);
        let changed = (moved || !same(&self.before, &self.after) || kept)
            && self.before.iter().chain(&self.after).any(Option::is_some);
        let show = |places: &[Place], values: &Fragment<'_>| {
            let present = places
                .iter()
                .zip(values)
                .filter_map(|(place, value)| Some((place, value.as_ref()?)));
            present.map(|(place, value)| (join(prefix, &place.id), value.to_text())).collect()
        };
        changed.then(|| Change {
            operation: self.operation.name.to_owned(),
            before: show(read, &self.before),
            after: show(written, &self.after),
            kept,
            given_back: self.given_back,
        })
    }
}

/// The path of a field of an item, for people.
pub(super) fn join(prefix: &str, id: &str) -> String {
    match prefix.is_empty() {
        true => id.to_owned(),
        false => format!("{prefix}.{id}"),
    }
}
