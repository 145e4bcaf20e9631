//! API calls of a plan.

use super::job_write::JobWrite;
use super::object_write::ObjectWrite;
use super::patch::ObjectPatch;
use crate::observe::status::RolloutStatus;

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RolloutWrite {
    /// The whole status of the StagedRollout, with the resourceVersion that was read: writes of a runner that lost the
    /// rollout are refused.
    Status(Box<RolloutStatus>),
    /// The move of an object.
    Move(ObjectPatch),
    /// A Job of a step. An existing Job of that name is the intended one.
    Job(Box<JobWrite>),
    /// A step's write of another object.
    Object(Box<ObjectWrite>),
    /// Holds an object until its turn, or releases it.
    Hold(ObjectPatch),
    /// A move as dry run, to check whether it is still refused. The result is recorded in [`crate::RunnerCache`].
    Try(ObjectPatch),
}

impl RolloutWrite {
    /// The uid of its fleet object; `None` for a status.
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
