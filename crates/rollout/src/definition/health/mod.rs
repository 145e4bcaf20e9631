//! The health of an object, as data: the conditions that must hold after a move, before the rollout moves the next
//! object.

mod health_gates;
mod spec;

pub(crate) use health_gates::Health;
pub(super) use spec::HealthSpec;
