//! Removes the conversion of a CRD when no object needs it.

mod final_check;
mod options;
mod plan;
mod registrations;
mod steps;
mod translation;

pub(crate) use final_check::leads_nowhere;
pub use options::{DisableError, DisableEvent, DisableOptions, DisableStep, Disabled};
pub use steps::disable;
