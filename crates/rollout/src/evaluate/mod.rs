//! The state of each object of a fleet, and the summary of a fleet.

pub(crate) mod fleet_view;
pub(crate) mod message;
pub(crate) mod object_state;
pub(crate) mod rewrite;
pub(crate) mod running_range;
pub(crate) mod state_evaluator;
pub(crate) mod step_evaluator;
