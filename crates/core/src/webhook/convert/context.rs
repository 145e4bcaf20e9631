//! What is the same for all operations of one step on one object.

use super::change::Trace;
use crate::definition::Side;

/// One conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    /// Whether it is complete on the way home too, so that what is filled in there need not be kept.
    pub(super) complete_at_home: bool,
    /// Whether something would be filled in on the way home that was not there, because the object counts as complete only
    /// then.
    pub(super) invents: bool,
    pub(super) trace: &'c mut Trace<'t>,
}
