//! What a healthy object looks like, as data: what has to hold after an object was moved before the next one goes.

mod health;
mod spec;

pub(crate) use health::Health;
pub(super) use spec::HealthySpec;
