//! What a definition says of the way between versions.

use semver::Version;

use super::range::Range;

/// From some versions to some others.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) from: Range,
    pub(crate) to: Target,
    /// How far back these versions may go, if at all.
    pub(crate) back: Option<Reach>,
}

/// Where a hop leads.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Any newer version in a range.
    Range(Range),
    /// As far as that.
    Reach(Reach),
}

/// How far one upgrade may go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reach {
    /// To the next major version at most.
    Major,
    /// To the next minor version of the same major one at most.
    Minor,
    /// To another patch of the same minor version.
    Patch,
}

/// A version that names its neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    pub(crate) version: Version,
    pub(crate) upgrade_from: Vec<Version>,
    pub(crate) downgrade_to: Vec<Version>,
}

impl Target {
    /// Whether it leads to a newer version.
    pub(super) fn reaches(&self, from: &Version, to: &Version) -> bool {
        match self {
            Self::Range(range) => range.contains(to),
            Self::Reach(reach) => reach.spans(from, to),
        }
    }
}

impl Reach {
    /// Whether it leads from the older of two versions to the newer one; or back.
    pub(super) fn spans(self, older: &Version, newer: &Version) -> bool {
        match self {
            Self::Major => newer.major <= older.major.saturating_add(1),
            Self::Minor => newer.major == older.major && newer.minor <= older.minor.saturating_add(1),
            Self::Patch => newer.major == older.major && newer.minor == older.minor,
        }
    }
}
