//! Pointing a CRD's conversion to us, after proving that we answer.

mod arming;
mod options;
mod refusals;
mod self_test;

pub use arming::arm;
pub use options::{ArmError, ArmEvent, ArmOptions, Armed, Probe, Wanted};
