//! Actions of steps on other objects: lookups, observed state, and the next API call. Each step is a file that
//! implements `StepAction`, and `actions` selects it.

pub(crate) mod actions;
pub(crate) mod adopt;
pub(crate) mod context;
pub(crate) mod convert;
pub(crate) mod converted_source;
pub(crate) mod copied_metadata;
pub(crate) mod deletion_by_label;
pub(crate) mod deletion_by_name;
pub(crate) mod dependents;
pub(crate) mod job_write;
pub(crate) mod leftovers;
pub(crate) mod list_wait;
pub(crate) mod object_write;
pub(crate) mod observed_object;
pub(crate) mod obstacles;
pub(crate) mod outcome;
pub(crate) mod patch;
pub(crate) mod preflight;
pub(crate) mod recreate;
pub(crate) mod recreation_source;
pub(crate) mod revert;
pub(crate) mod revert_preflight;
pub(crate) mod source_deletion;
pub(crate) mod step_action;
pub(crate) mod step_state;
pub(crate) mod steps_digest;
pub(crate) mod touch;
pub(crate) mod wait;
pub(crate) mod waits;
