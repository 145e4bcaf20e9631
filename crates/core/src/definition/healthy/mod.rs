//! The health of an object, as data: the conditions that must hold after a move, before the rollout moves the next
//! object.

mod health;
mod spec;

pub(crate) use health::Health;
pub(super) use spec::HealthySpec;
