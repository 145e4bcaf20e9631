//! What is the same for all operations of one step on one object.

use super::change::Trace;
use super::facts::Facts;
use crate::definition::{Path, Side, Sides};
use crate::webhook::caller::{Caller, CallerGone};

/// One conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    /// Whether it has all that is required in the version that is read. It may have been sparse in the other one.
    pub(super) looks_complete: bool,
    /// Whether it is complete on the way home too, so that what is filled in there need not be kept.
    pub(super) complete_at_home: bool,
    /// Whether the object is sparse and would be taken for a complete one in the version that is written.
    pub(super) seems_complete: bool,
    /// Whether the object has a uid, or is about to get one.
    pub(super) is_named: bool,
    /// The objects of a side that something needs which waits for versions behind it.
    pub(super) needed: &'c Sides<Vec<Path>>,
    /// Whether an object is expected to stay on the way home for what waits in it, and for nothing else.
    pub(super) stays_for_waiting: &'c mut bool,
    /// What is known beside the object.
    pub(super) facts: Facts,
    /// Who waits for what becomes of the object, where that may be nobody any more.
    pub(super) caller: Option<&'c Caller<'c>>,
    pub(super) trace: &'c mut Trace<'t>,
}

impl Context<'_, '_> {
    /// Asks whether somebody still waits for what becomes of the object.
    pub(super) fn is_awaited(&self) -> Result<(), CallerGone> {
        self.caller.map_or(Ok(()), Caller::waits)
    }

    /// Notes whether the object has all that is required in the version that is written.
    pub(super) fn tell_at_home(&mut self, is_complete: bool) {
        self.complete_at_home = is_complete && self.looks_complete;
        self.seems_complete = is_complete && !self.looks_complete;
    }
}
