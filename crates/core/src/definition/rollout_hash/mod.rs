//! The rollout hash: the fields whose change requires a rollout, and the rollout in the status of two versions.

mod hash;
mod status;

pub(super) use hash::HashSpec;
pub(crate) use hash::HashedFields;
pub(crate) use status::StatusMapping;
pub(super) use status::StatusMappingSpec;
