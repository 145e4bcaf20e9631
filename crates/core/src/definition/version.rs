//! The versions of a kind, in order, and the indices by which other modules refer to them.

use std::iter::once;
use std::sync::Arc;

use super::{compare::AcceptedAbsences, path::Path, schema::Schema};

#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: Arc<str>,
    /// `group/version`.
    pub(crate) api_version: String,
    /// The kind of its objects. All versions of a kind have the same, except in a kind conversion.
    pub(crate) kind: Arc<str>,
    /// Without the requirements of fields that objects may lack.
    pub(crate) schema: Schema,
    /// Required fields that objects may lack, as accepted by the definition.
    pub(super) absences: AcceptedAbsences,
    pub(crate) storage: bool,
    pub(crate) served: bool,
    /// The status is a subresource: the API server drops the status from a write of the whole object.
    pub(crate) status_apart: bool,
    /// The field that the scale subresource writes, if there is one.
    pub(crate) replicas: Option<Path>,
}

/// The index of a version. A greater index is a newer version. Only a kind creates indices, and they are valid for that
/// kind alone.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct VersionIndex(usize);

impl VersionIndex {
    /// The index of the step that leads to this version from the previous one. `None` for the oldest.
    pub(super) fn step(self) -> Option<usize> {
        self.0.checked_sub(1)
    }

    /// The number of steps from the oldest version to this one.
    pub(super) fn step_count(self) -> usize {
        self.0
    }
}

/// All versions of a kind, oldest first. There is at least one, so every index resolves to a version.
#[derive(Debug)]
pub(crate) struct Versions {
    oldest: Version,
    newer: Vec<Version>,
    storage: VersionIndex,
}

impl Versions {
    /// Returns `None` if there is no version, or no storage version.
    pub(super) fn new(ordered: Vec<Version>) -> Option<Self> {
        let storage = VersionIndex(ordered.iter().position(|version| version.storage)?);
        let mut ordered = ordered.into_iter();
        Some(Self { oldest: ordered.next()?, newer: ordered.collect(), storage })
    }

    /// The version of an index. A greater index, of another kind, returns the oldest.
    pub(crate) fn at(&self, index: VersionIndex) -> &Version {
        index.step().and_then(|step| self.newer.get(step)).unwrap_or(&self.oldest)
    }

    /// The versions, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Version> {
        once(&self.oldest).chain(&self.newer)
    }

    /// The indices of the versions, oldest first.
    pub(crate) fn indices(&self) -> impl Iterator<Item = VersionIndex> + use<> {
        (0..=self.newer.len()).map(VersionIndex)
    }

    pub(crate) fn newest(&self) -> VersionIndex {
        VersionIndex(self.newer.len())
    }

    pub(super) fn storage(&self) -> &Version {
        self.at(self.storage)
    }

    /// The first version for which a condition is true.
    pub(crate) fn find(&self, is: impl FnMut(&Version) -> bool) -> Option<VersionIndex> {
        self.iter().position(is).map(VersionIndex)
    }

    pub(crate) fn named(&self, name: &str) -> Option<VersionIndex> {
        self.find(|version| version.name.as_ref() == name)
    }

    /// Each version with the next newer version and its index.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = (&Version, &Version, VersionIndex)> {
        let newer = self.newer.iter().zip(self.indices().skip(1));
        self.iter().zip(newer).map(|(older, (newer, index))| (older, newer, index))
    }

    pub(super) fn names(&self) -> String {
        self.iter().map(|version| version.name.as_ref()).collect::<Vec<_>>().join(", ")
    }
}
