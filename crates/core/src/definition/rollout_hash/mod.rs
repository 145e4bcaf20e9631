//! Rollouts: what calls for one, and how the status of two versions speaks of it.

mod hash;
mod status;

pub(super) use hash::HashSpec;
pub(crate) use hash::HashedFields;
pub(crate) use status::StatusMapping;
pub(super) use status::StatusMappingSpec;
