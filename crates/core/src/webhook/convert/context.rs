//! What is the same for all operations of one step on one object.

use super::change::Trace;
use crate::definition::Side;

/// One conversion of one object.
pub(super) struct Context<'c, 't> {
    /// The side that is written.
    pub(super) to: Side,
    /// Whether the object is complete, so that fields are filled as its readers expect.
    pub(super) complete: bool,
    pub(super) trace: &'c mut Trace<'t>,
}
