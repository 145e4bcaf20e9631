//! The StagedRollout as written, validated against the definition of its kind.

pub(crate) mod checks;
pub(crate) mod compiler;
pub(crate) mod document;
pub(crate) mod freeze;
pub(crate) mod kinds;
pub(crate) mod rollout;
pub(crate) mod versions;
pub(crate) mod waves;
pub(crate) mod window;
