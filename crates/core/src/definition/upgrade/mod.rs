//! Upgrade paths: which version may follow which, as data, and the path from one to another.
//!
//! A *hop* is one upgrade of a controller or an image, without a version in between. A *step* (`definition`) is between
//! two neighbouring versions of an API.
//!
//! Versions are compared by semver.org, without build metadata. A range compares major, minor and patch only, so
//! `26.0.0-rc.1` matches a rule for 26.

mod graph;
mod hop;
mod range;
mod refusal;
#[cfg(test)]
mod tests;
mod version;

pub use graph::Graph;
pub(crate) use hop::{Hop, Neighbours, Reach, Target};
pub(crate) use range::Range;
pub use refusal::Refused;
pub use version::{VersionText, version};
pub(crate) use version::{image_tag, tag};
