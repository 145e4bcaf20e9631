//! Documents and descriptions of a rollout for people, and for the runner: rights, policies and the rate limit.

pub(crate) mod descriptions;
pub mod documents;
pub(crate) mod mutations;
pub(crate) mod rate_limiter;
pub(crate) mod rights;
pub(crate) mod running_versions;
