//! What is the same for all operations of one step on one object.

use super::change::Trace;
use super::kept::Kept;
use crate::definition::{Side, Sides};

/// One conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    /// Whether it is complete on the way home too, so that what is filled in there need not be kept.
    pub(super) complete_at_home: bool,
    /// Whether something would be filled in on the way home that was not there, because the object counts as complete
    /// only then.
    pub(super) invents: bool,
    /// Whether the object is sparse for the first time, and goes on: it stays sparse, so that it has to be known on the
    /// way home from there.
    pub(super) turns_sparse: bool,
    /// What waits on the object for versions behind that of a side.
    pub(super) waiting: &'c Sides<Vec<Kept<'c>>>,
    /// Objects that the steps before made of nothing; then those that this one made as well.
    pub(super) made: &'c mut Vec<String>,
    /// Whether an object is expected to stay on the way home for what waits in it, and for nothing else.
    pub(super) stays_for_waiting: &'c mut bool,
    /// Whether another step needs to know these.
    pub(super) goes_on: bool,
    pub(super) trace: &'c mut Trace<'t>,
}

impl Context<'_, '_> {
    /// Notes whether the object has all that is required in the version that is written.
    pub(super) fn tell_at_home(&mut self, is_complete: bool) {
        self.invents = is_complete && self.turns_sparse;
        self.complete_at_home = is_complete && !self.turns_sparse;
    }
}
