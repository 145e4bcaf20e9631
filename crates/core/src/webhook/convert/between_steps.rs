//! What the steps of a conversion over several versions have to tell each other.

use super::facts::Facts;
use crate::definition::Path;
use crate::webhook::caller::Caller;
use crate::webhook::rollout_hash::CalculatedHash;

/// What is known of an object on its way through the steps. What a step reads and writes between two others is what the
/// API server would have stored there: a way of several steps is one step after the other.
#[derive(Default)]
pub(super) struct BetweenSteps<'c> {
    /// The objects that something needs, on the way home, which waits for versions behind the one that the next step
    /// writes, where that is another thing than what waits there now.
    pub(super) needed_at_home: Option<Vec<Path>>,
    /// The object has a uid, or is about to get one.
    pub(super) is_named: bool,
    /// An object was expected to stay on the way home for what waits in it now, and for nothing else.
    pub(super) stays_for_waiting: bool,
    /// What is known beside the object.
    pub(super) facts: Facts,
    /// Who waits for what becomes of it, where that may be nobody any more.
    pub(super) caller: Option<&'c Caller<'c>>,
    /// A change that waits for somebody was taken as completed.
    pub(super) staged: bool,
    /// The rollout hash of the object as it is now, where the last step had to calculate it.
    pub(super) hash: Option<CalculatedHash>,
    /// Somebody asks what that is made of.
    pub(super) tells_preimage: bool,
}
