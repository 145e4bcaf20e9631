//! Upgrade paths: which version may follow which, as data, and the way from one to another.
//!
//! A *hop* is one upgrade of a controller or an image, with no version of it in between. A *step*
//! (`definition`) lies between two neighbouring versions of an API.
//!
//! Versions are compared as semver.org says; build metadata does not count. A range looks at major, minor and patch
//! only, so that `26.0.0-rc.1` is a 26 for a rule about 26.

mod graph;
mod hop;
mod range;
mod refusal;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use graph::Graph;
pub(crate) use hop::{Hop, Neighbours, Reach, Target};
pub(crate) use range::Range;
pub(crate) use refusal::Refused;
pub(crate) use version::{VersionText, image_tag, tag, version};
