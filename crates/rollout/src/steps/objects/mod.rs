//! Other objects of a step: their observed state, and the obstacles to a step.

pub(crate) mod converted_source;
pub(crate) mod copied_metadata;
pub(crate) mod dependents;
pub(crate) mod leftovers;
pub(crate) mod observed_object;
pub(crate) mod obstacles;
pub(crate) mod recreation_source;
