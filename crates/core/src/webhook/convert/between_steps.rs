//! State that the steps of a conversion over several versions share.

use super::facts::Facts;
use crate::definition::Path;
use crate::webhook::caller::Caller;
use crate::webhook::rollout_hash::CalculatedHash;

/// The state of an object between two steps. A conversion of several steps gives the same result as separate
/// conversions, with the intermediate object stored.
#[derive(Default)]
pub(super) struct BetweenSteps<'c> {
    /// The paths of objects that pending values need in the conversion back, beyond the version that the next step
    /// writes. `None` if they are the same as for the values that are pending now.
    pub(super) needed_on_return: Option<Vec<Path>>,
    /// The object has a uid, or is about to get one.
    pub(super) has_uid: bool,
    /// In the conversion back, an object was assumed to stay only for the values that are pending in it now.
    pub(super) stays_for_waiting: bool,
    /// The namespace of the object, if it has one.
    pub(super) namespace: Option<String>,
    /// The facts about the object.
    pub(super) facts: Facts,
    /// The client that waits, if it may disconnect.
    pub(super) caller: Option<&'c Caller<'c>>,
    /// A change that waits for approval was treated as completed.
    pub(super) staged: bool,
    /// The rollout hash of the current object, if the last step calculated it.
    pub(super) hash: Option<CalculatedHash>,
    /// The kept annotation of the next step is not written, because nothing reads it.
    pub(super) omits_kept: bool,
    /// The preimage of the hash is requested.
    pub(super) needs_preimage: bool,
}
