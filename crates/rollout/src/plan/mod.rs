//! The next writes of a rollout: waves, gates, failures and undo.

pub(crate) mod advance;
pub(crate) mod complete;
pub(crate) mod failure;
pub(crate) mod forecast;
pub(crate) mod next_writes;
pub(crate) mod object_move;
pub(crate) mod object_steps;
pub(crate) mod planner;
pub(crate) mod requests;
pub(crate) mod rollback;
pub(crate) mod start;
pub(crate) mod workflow_plan;
