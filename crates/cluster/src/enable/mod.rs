//! Points the conversion of a CRD to a server, after testing that server.

mod bundle;
mod client_config;
mod creatable;
mod leftovers;
mod options;
mod refusals;
mod registration;
mod restore;
mod steps;

pub use options::{DesiredCrd, EnableError, EnableEvent, EnableOptions, EnableStep, Enabled};
pub use steps::enable;
