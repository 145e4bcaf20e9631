//! The StagedRollout as written, validated against the definition of its kind.

pub(crate) mod bad_rollout;
pub(crate) mod checks;
pub(crate) mod compiler;
pub(crate) mod document;
pub(crate) mod freeze;
pub(crate) mod http_checks;
pub(crate) mod kinds;
pub(crate) mod object_selector;
pub(crate) mod ordered_version;
pub(crate) mod owner_references;
pub(crate) mod read;
pub(crate) mod read_version;
pub(crate) mod rollout;
pub(crate) mod suggestion;
pub(crate) mod version_range;
pub(crate) mod wave;
pub(crate) mod wave_gate;
pub(crate) mod window;
