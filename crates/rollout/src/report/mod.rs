//! Documents and descriptions of a rollout for people, and for the runner: rights, policies and the rate limit.

pub(crate) mod call_times;
pub mod documents;
pub(crate) mod gate_description;
pub(crate) mod mutations;
pub(crate) mod rate_limiter;
pub(crate) mod rights;
pub(crate) mod running_versions;
pub(crate) mod step_description;
