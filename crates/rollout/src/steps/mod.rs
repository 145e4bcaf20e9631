//! Actions of steps on other objects: lookups, observed state, and the next API call. No state is kept in memory: the
//! objects show whether a step is applied or reverted, and a partial step continues in either direction.

pub(crate) mod adopt;
pub(crate) mod context;
pub(crate) mod convert;
pub(crate) mod converted_source;
pub(crate) mod copied_metadata;
pub(crate) mod delete;
pub(crate) mod deletion_by_name;
pub(crate) mod job_write;
pub(crate) mod list_wait;
pub(crate) mod lookup;
pub(crate) mod object_write;
pub(crate) mod observed_object;
pub(crate) mod obstacles;
pub(crate) mod outcome;
pub(crate) mod patch;
pub(crate) mod perform;
pub(crate) mod preflight;
pub(crate) mod recreate;
pub(crate) mod recreation_source;
pub(crate) mod required_rights;
pub(crate) mod revert;
pub(crate) mod revert_preflight;
pub(crate) mod step_state;
pub(crate) mod steps_digest;
pub(crate) mod touch;
pub(crate) mod wait;
pub(crate) mod waits;
