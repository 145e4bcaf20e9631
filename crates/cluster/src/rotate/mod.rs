//! Another authority for the servers, without a failed call: what the API server trusts and what the servers show never
//! change at the same moment, so that for a while both authorities are trusted.

mod authorities;
mod options;
mod proof;
mod steps;
mod trust_documents;

pub use options::{RotateError, RotateEvent, RotateOptions, RotateStep, Rotated, Trusting};
pub use steps::rotate;
