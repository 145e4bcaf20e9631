//! Rollouts: what calls for one, and how the status of two versions speaks of it.

mod hash;
mod status;

pub(super) use hash::HashSpec;
pub(crate) use hash::Rollout;
pub(crate) use status::RolloutStatus;
pub(super) use status::RolloutStatusSpec;
