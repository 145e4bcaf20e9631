//! Which versions run, from the lowest to the highest.

use serde::{Deserialize, Serialize};

use super::ordered_version::OrderedVersion;

/// The lowest and the highest version that may be running.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VersionRange {
    /// Nothing older runs.
    pub lowest: OrderedVersion,
    /// Nothing newer runs.
    pub highest: OrderedVersion,
}
