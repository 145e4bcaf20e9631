//! The range of running versions, from lowest to highest.

use serde::{Deserialize, Serialize};

use super::ordered_version::OrderedVersion;

/// The lowest and the highest version that may be running.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VersionRange {
    /// No older version runs.
    pub lowest: OrderedVersion,
    /// No newer version runs.
    pub highest: OrderedVersion,
}
