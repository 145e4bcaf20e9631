//! The writes of steps: objects, Jobs, and patches of the object itself.

pub(crate) mod job_write;
pub(crate) mod object_write;
pub(crate) mod patch;
