//! A call of the API server that a plan asks for.

use super::steps::ObjectWrite;
use super::job_write::JobWrite;
use super::patch::ObjectPatch;
use super::status::RolloutStatus;

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RolloutWrite {
    /// The status of the StagedRollout, as a whole, with the resourceVersion that was read: who has lost the
    /// StagedRollout to another runner must not be heard.
    Status(Box<RolloutStatus>),
    /// The move of an object.
    Move(ObjectPatch),
    /// A Job of a step. One that is there already is the one that was meant.
    Job(Box<JobWrite>),
    /// What a step does to another object.
    Object(Box<ObjectWrite>),
    /// An object is held until its turn, or let go that does not move.
    Hold(ObjectPatch),
    /// A move, as a dry run: whether it would still be refused. The answer goes to [`super::Remembered`].
    Try(ObjectPatch),
}

impl RolloutWrite {
    /// The object of the fleet that it is for; nothing of a status.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        match self {
            Self::Status(_) => None,
            Self::Move(one) | Self::Hold(one) | Self::Try(one) => Some(&one.uid),
            Self::Job(one) => Some(&one.uid),
            Self::Object(one) => Some(&one.uid),
        }
    }
}
