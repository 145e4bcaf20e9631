//! The place of an operation, as written: one path for both versions, or a path for each.

use schemars::JsonSchema;
use serde::Deserialize;

/// A field with a path for each version.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Pair")]
pub(crate) struct PairSpec {
    /// The path in the older version.
    pub(super) from: String,
    /// The path in the newer version.
    pub(super) to: String,
}

/// A field with the same path in both versions, or with two paths.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "takes a path, quoted if YAML reads the path as a number or a boolean (n, y), or {from: PATH, to: PATH}",
    rename = "Place"
)]
pub(crate) enum PlaceSpec {
    /// The same path in both versions.
    Path(String),
    /// Two paths.
    Pair(PairSpec),
}

impl PlaceSpec {
    /// The path, if both versions have the same path.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) => Some(path),
            Self::Pair(_) => None,
        }
    }

    /// The paths in the older and in the newer version.
    pub(super) fn paths(&self) -> (&str, &str) {
        match self {
            Self::Path(path) => (path, path),
            Self::Pair(pair) => (&pair.from, &pair.to),
        }
    }
}
