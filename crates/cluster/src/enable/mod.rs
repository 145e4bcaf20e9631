//! Pointing a CRD's conversion to us, after proving that we answer.

mod bundle;
mod client_config;
mod creatable;
mod leftovers;
mod options;
mod refusals;
mod registration;
mod restore;
mod steps;

pub use options::{EnableError, EnableEvent, EnableOptions, EnableStep, Enabled, Wanted};
pub use steps::enable;
