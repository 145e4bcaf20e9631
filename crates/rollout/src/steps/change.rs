//! The next change of an object on its workflow, given the observed state of the object and its Jobs.

use super::job_write::JobWrite;
use super::object_write::ObjectWrite;
use super::patch::ObjectPatch;

/// The next change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepChange {
    /// None: the object is at its end.
    Landed,
    /// This write.
    Next(StepWrite),
    /// None yet, with the reason. `spent`: its Job has ended and would have to run again.
    Waits { why: String, spent: bool },
    /// None while another cluster is unreachable or a request is unacknowledged, with the reason: no timeout applies.
    Away(String),
    /// None before the rollout is resumed, with the reason.
    Fails(String),
    /// None before an operator has fixed other objects, with the reason.
    Stuck(String),
    /// None: another client changed a field that the rollout wrote.
    Held(String),
}

/// A write that applies or begins a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepWrite {
    Move(ObjectPatch),
    Job(Box<JobWrite>),
    /// A write of another object.
    Object(Box<ObjectWrite>),
    /// Progress of a wave run, which the StagedRollout stores itself.
    Ran {
        done: usize,
        half: bool,
    },
}
