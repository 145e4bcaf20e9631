//! The hops of a definition.

use semver::Version;

use super::range::Range;

/// A hop between two sets of versions.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) from: Range,
    pub(crate) to: Target,
    /// The maximum downgrade of these versions, if allowed.
    pub(crate) back: Option<Reach>,
}

/// The target of a hop.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Any newer version in a range.
    Range(Range),
    /// A newer version within this distance.
    Reach(Reach),
}

/// The maximum distance of one upgrade.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reach {
    /// At most the next major version.
    Major,
    /// At most the next minor version of the same major version.
    Minor,
    /// Another patch of the same minor version.
    Patch,
}

/// A version with its neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    pub(crate) version: Version,
    pub(crate) upgrade_from: Vec<Version>,
    pub(crate) downgrade_to: Vec<Version>,
}

impl Target {
    /// Returns whether the hop leads to a newer version.
    pub(super) fn reaches(&self, from: &Version, to: &Version) -> bool {
        match self {
            Self::Range(range) => range.contains(to),
            Self::Reach(reach) => reach.spans(from, to),
        }
    }
}

impl Reach {
    /// Returns whether the distance covers two versions, in either direction.
    pub(super) fn spans(self, older: &Version, newer: &Version) -> bool {
        match self {
            Self::Major => newer.major <= older.major.saturating_add(1),
            Self::Minor => newer.major == older.major && newer.minor <= older.minor.saturating_add(1),
            Self::Patch => newer.major == older.major && newer.minor == older.minor,
        }
    }
}
