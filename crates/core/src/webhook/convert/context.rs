//! What is the same for all operations of one step on one object.

use super::change::Trace;
use crate::definition::Side;

/// Where a step stands on the way between two versions. What is between others no API server fills anything in.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The way starts with it: what it reads is an object as the API server sent it.
    pub(super) starts: bool,
    /// The way ends with it: what it writes is read by the API server.
    pub(super) ends: bool,
}

/// One conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    pub(super) ends: Ends,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    /// Whether it is complete on the way home too, so that what is filled in there need not be kept.
    pub(super) complete_at_home: bool,
    /// Whether something would be filled in on the way home that was not there, because the object counts as complete only
    /// then.
    pub(super) invents: bool,
    pub(super) trace: &'c mut Trace<'t>,
}
