//! Pointing a CRD's conversion to us, after proving that we answer.

mod arming;
mod options;
mod refusals;

pub use arming::arm;
pub use options::{ArmError, ArmEvent, ArmOptions, Armed, Wanted};
