//! Actions of steps on other objects: lookups, observed state, and the next API call. Each step is a file in `actions`
//! that implements `StepAction`.

pub(crate) mod actions;
pub(crate) mod context;
pub(crate) mod objects;
pub(crate) mod outcome;
pub(crate) mod preflight;
pub(crate) mod revert;
pub(crate) mod revert_preflight;
pub(crate) mod step_action;
pub(crate) mod step_state;
pub(crate) mod steps_digest;
pub(crate) mod waits;
pub(crate) mod writes;
