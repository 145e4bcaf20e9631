//! What comes next of an object on its workflow, by what is seen of it and of its Jobs.

use super::steps::ObjectWrite;
use super::job_write::JobWrite;
use super::patch::ObjectPatch;

/// What comes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum StepChange {
    /// Nothing: it is where it is to go.
    Landed,
    /// This write.
    Next(StepWrite),
    /// Nothing yet, and why. `spent`: its Job has ended, and would have to be run anew.
    Waits { why: String, spent: bool },
    /// Nothing while another cluster does not answer, or something may still come, and why: no time is too long.
    Away(String),
    /// Nothing, before somebody resumes the rollout, and why.
    Fails(String),
    /// Nothing, before somebody has looked at other objects, and why.
    Stuck(String),
    /// Nothing: somebody else has changed a field that the rollout has written.
    Held(String),
}

/// A write by which a step is done, or begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum StepWrite {
    Move(ObjectPatch),
    Job(Box<JobWrite>),
    /// What it does to another object.
    Object(Box<ObjectWrite>),
    /// So many steps of what a wave runs are done, which the StagedRollout itself remembers.
    Ran {
        done: usize,
        half: bool,
    },
}
