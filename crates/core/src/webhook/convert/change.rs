//! What a conversion did, told to people who ask.

use super::paths::ErrorPath;
use crate::definition::{Operation, Place, Side};
use crate::json::Json;

/// One change that a conversion made, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The operation, by its key in the definition.
    pub operation: String,
    /// The fields it read: path and value.
    pub before: Vec<(String, String)>,
    /// The fields it wrote: path and value.
    pub after: Vec<(String, String)>,
    /// The values before are kept in an annotation.
    pub kept: bool,
    /// The values after were kept in an annotation and came back.
    pub given_back: bool,
}

impl Change {
    /// What an operation did, apart from what was kept. `None` if there was nothing.
    pub(super) fn of(
        operation: &Operation,
        to: Side,
        before: &[Option<Json<'_>>],
        after: &[Option<Json<'_>>],
        here: &ErrorPath<'_>,
    ) -> Option<Self> {
        let show = |places: &[Place], values: &[Option<Json<'_>>]| {
            let present = places.iter().zip(values);
            let present = present.filter_map(|(place, value)| Some((place, value.as_ref()?)));
            present.map(|(place, value)| (here.below(&place.id), value.to_text())).collect()
        };
        let change = Self {
            operation: operation.name.to_owned(),
            before: show(operation.places.of(to.other()), before),
            after: show(operation.places.of(to), after),
            kept: false,
            given_back: false,
        };
        before.iter().chain(after).any(Option::is_some).then_some(change)
    }
}

/// Where changes are told. Where nobody asked for them, none is made.
pub(crate) struct Trace<'t>(Option<&'t mut Vec<Change>>);

impl<'t> Trace<'t> {
    /// Nobody asked.
    pub(super) fn off() -> Self {
        Self(None)
    }

    /// Changes are added to a list.
    pub(crate) fn to(changes: &'t mut Vec<Change>) -> Self {
        Self(Some(changes))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Forgets all changes, to be told anew.
    pub(super) fn clear(&mut self) {
        if let Some(changes) = &mut self.0 {
            changes.clear();
        }
    }

    /// Adds a change, if there is one and somebody asked.
    pub(super) fn record(&mut self, change: impl FnOnce() -> Option<Change>) {
        if let Some(changes) = &mut self.0 {
            changes.extend(change());
        }
    }
}
