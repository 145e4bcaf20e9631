//! Events of a running rollout.

use pointsman_rollout::{RateChange, RolloutStatus};

use crate::call_error::CallError;

/// An event of a running rollout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RolloutEvent {
    /// Another process runs it; this process waits to take over.
    WaitsFor(String),
    /// The status was written.
    Status(Box<RolloutStatus>),
    /// An object was moved.
    Moved(String),
    /// A Job of a step was created or existed: `namespace/name`, and the object.
    Ran(String, String),
    /// A step wrote another object: the message, and the rollout's object.
    Wrote(String, String),
    /// A step wrote another object without the intended effect yet: object and reason.
    NotYet(String),
    /// An object was replaced or moved by another client.
    Replaced(String),
    /// An object cannot be moved: object and reason.
    Refused(String, String),
    /// A call failed temporarily.
    Trying(CallError),
    /// The write rate changed, with the reason.
    Pace(RateChange),
    /// A notice for the operator. The run continues.
    Noted(String),
    /// A missing permission, reported once. Work that does not need it continues.
    NotAllowed(String),
    /// The run was stopped or skipped, with the reason.
    Left(String),
    /// The rollout has finished, or with `once` only waits.
    Ended(Box<RolloutStatus>),
}
