//! Documents that protect a rollout in its cluster: the role of the runner, and policies that the API server evaluates.

mod replacement_policies;
mod rollout_freeze;
mod rollout_role;

pub use replacement_policies::replacement_policies;
pub use rollout_freeze::{FreezeDocuments, freeze};
pub use rollout_role::rollout_roles;
