//! The context of all operations of one step on one object.

use super::change::Trace;
use super::facts::Facts;
use crate::definition::{Path, Side, Sides};
use crate::webhook::caller::{Caller, ClientDisconnected};

/// The conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that defaults are filled in for its readers.
    pub(super) complete: bool,
    /// Whether the object has all required fields of the version that is read. In the other version it may have been
    /// sparse.
    pub(super) appears_complete: bool,
    /// Whether the object is complete in the conversion back too, so that defaults need not be kept.
    pub(super) complete_on_return: bool,
    /// Whether the object is sparse, and has all required fields of the version that is written.
    pub(super) hides_sparseness: bool,
    /// Whether the object has a uid, or is about to get one.
    pub(super) has_uid: bool,
    /// The objects of each side that pending values for more distant versions need.
    pub(super) needed: &'c Sides<Vec<Path>>,
    /// Set if an object is assumed to stay in the conversion back only for pending values.
    pub(super) stays_for_waiting: &'c mut bool,
    /// The namespace of the object, if it has one.
    pub(super) namespace: Option<&'c str>,
    /// The facts about the object.
    pub(super) facts: Facts,
    /// The client that waits, if it may disconnect.
    pub(super) caller: Option<&'c Caller<'c>>,
    pub(super) trace: &'c mut Trace<'t>,
}

impl Context<'_, '_> {
    /// Checks that the client still waits.
    pub(super) fn check_awaited(&self) -> Result<(), ClientDisconnected> {
        self.caller.map_or(Ok(()), Caller::waits)
    }

    /// Records whether the object has all required fields in the version that is written.
    pub(super) fn record_completeness(&mut self, is_complete: bool) {
        self.complete_on_return = is_complete && self.appears_complete;
        self.hides_sparseness = is_complete && !self.appears_complete;
    }
}
