//! The changes of a conversion, described for people.

use super::paths::ErrorPath;
use crate::definition::{Operation, Place, Side};
use crate::json::Json;

/// A change by one operation, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The key of the operation in the definition.
    pub operation: String,
    /// The fields that were read: path and value.
    pub before: Vec<(String, String)>,
    /// The fields that were written: path and value.
    pub after: Vec<(String, String)>,
    /// The old values are kept in an annotation.
    pub kept: bool,
    /// The new values were restored from an annotation.
    pub given_back: bool,
}

impl Change {
    /// The effect of an operation, without kept values. `None` if there was none.
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

    /// A kept value that no operation maps: the version that is written does not have it.
    pub(super) fn without_operation(path: String, value: String) -> Self {
        let before = vec![(path, value)];
        Self { operation: "drop".to_owned(), before, after: Vec::new(), kept: true, given_back: false }
    }
}

/// Collects changes, if enabled.
pub(crate) struct Trace<'t>(Option<&'t mut Vec<Change>>);

impl<'t> Trace<'t> {
    /// A disabled trace.
    pub(super) fn off() -> Self {
        Self(None)
    }

    /// A trace that appends to a list.
    pub(crate) fn to(changes: &'t mut Vec<Change>) -> Self {
        Self(Some(changes))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The number of recorded changes.
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |changes| changes.len())
    }

    /// Names the list of the target version in the paths of written fields, for the changes from an index on. Items are
    /// recorded with the path of their list in the source version.
    pub(super) fn rename_written(&mut self, from: usize, source: &str, target: &str) {
        let changes = self.0.as_mut().and_then(|changes| changes.get_mut(from..)).unwrap_or_default();
        for (path, _) in changes.iter_mut().flat_map(|change| &mut change.after) {
            if let Some(inside) = path.strip_prefix(source) {
                *path = format!("{target}{inside}");
            }
        }
    }

    /// Removes all changes, to record them again.
    pub(super) fn clear(&mut self) {
        if let Some(changes) = &mut self.0 {
            changes.clear();
        }
    }

    /// Records a change, if there is one and the trace is enabled.
    pub(super) fn record(&mut self, change: impl FnOnce() -> Option<Change>) {
        if let Some(changes) = &mut self.0 {
            changes.extend(change());
        }
    }
}
