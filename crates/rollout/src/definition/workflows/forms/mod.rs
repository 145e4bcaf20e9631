//! Workflows as written, and their check against the schemas of a kind.

pub(super) mod job;
pub(super) mod object_step;
pub(super) mod schemas;
pub(super) mod selected_objects;
pub(super) mod time_limit;
pub(super) mod workflow;
