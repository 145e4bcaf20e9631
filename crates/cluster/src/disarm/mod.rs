//! The way out: the conversion of a CRD is taken away once nobody needs it any more.

mod disarming;
mod last_look;
mod options;
mod plan;
mod registered;
mod translation;

pub use disarming::disarm;
pub(crate) use last_look::leads_nowhere;
pub use options::{DisarmError, DisarmEvent, DisarmOptions, DisarmStep, Disarmed};
