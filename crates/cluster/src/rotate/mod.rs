//! Rotates the authority of the servers without failed calls: trust and certificates change at different times, so both
//! authorities are trusted for a while.

mod authorities;
mod options;
mod proof;
mod steps;
mod trust_documents;

pub use options::{RotateError, RotateEvent, RotateOptions, RotateStep, Rotated, Trusting};
pub use steps::rotate;
