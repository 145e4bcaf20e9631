//! A call of the API server that a plan asks for.

use super::beside::ObjectWrite;
use super::job_write::JobWrite;
use super::patch::FleetMove;
use super::status::RollStatus;

/// One call of the API server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RollWrite {
    /// The status of the Roll, as a whole, with the resourceVersion that was read: who has lost the Roll to another
    /// runner must not be heard.
    Status(Box<RollStatus>),
    /// The move of an object.
    Move(FleetMove),
    /// A Job of a step. One that is there already is the one that was meant.
    Job(Box<JobWrite>),
    /// What a step does to another object.
    Object(Box<ObjectWrite>),
    /// An object is held until its turn, or let go that does not move.
    Hold(FleetMove),
    /// A move, as a dry run: whether it would still be refused. The answer goes to [`super::Remembered`].
    Try(FleetMove),
}

impl RollWrite {
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
