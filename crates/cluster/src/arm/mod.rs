//! Pointing a CRD's conversion to us, after proving that we answer.

mod arming;
mod bundle;
mod creatable;
mod leading;
mod options;
mod refusals;
mod registering;
mod replacing;
mod undone;

pub use arming::arm;
pub use options::{ArmError, ArmEvent, ArmOptions, ArmStep, Armed, Wanted};
