//! Observed state: the objects of the fleet, the annotations that rollouts write on objects, and the status.

pub(crate) mod conditions;
pub(crate) mod facts;
pub(crate) mod field_managers;
pub(crate) mod fleet_object;
pub(crate) mod moment;
pub(crate) mod observed_field;
pub(crate) mod progress;
pub(crate) mod rollout_annotation;
pub(crate) mod status;
