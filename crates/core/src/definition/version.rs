//! The versions of a kind, in order, and the indices by which the rest of the crate names them.

use std::iter::once;
use std::sync::Arc;

use super::{path::Path, schema::Schema};

#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: Arc<str>,
    /// `group/version`.
    pub(crate) api_version: String,
    /// The kind of its objects: the same in all versions of a kind, and another one where a kind becomes another one.
    pub(crate) kind: Arc<str>,
    pub(crate) schema: Schema,
    pub(crate) storage: bool,
    pub(crate) served: bool,
    /// The status is written apart, as a subresource: what a write of the whole object says of it is dropped.
    pub(crate) status_apart: bool,
    /// What its scale subresource writes, if it has one.
    pub(crate) replicas: Option<Path>,
}

/// Which version of a kind: greater is newer. Only a kind makes one, and it means a version of that kind alone.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct VersionIndex(usize);

impl VersionIndex {
    /// The index of the step that leads to this version from the one before. None leads to the oldest.
    pub(super) fn step(self) -> Option<usize> {
        self.0.checked_sub(1)
    }

    /// How many steps lead to this version from the oldest.
    pub(super) fn step_count(self) -> usize {
        self.0
    }
}

/// All versions of a kind, oldest first. There is at least one, so that every index leads to one.
#[derive(Debug)]
pub(crate) struct Versions {
    oldest: Version,
    newer: Vec<Version>,
    storage: VersionIndex,
}

impl Versions {
    /// `None` if there is no version, or none that is stored.
    pub(super) fn new(ordered: Vec<Version>) -> Option<Self> {
        let storage = VersionIndex(ordered.iter().position(|version| version.storage)?);
        let mut ordered = ordered.into_iter();
        Some(Self { oldest: ordered.next()?, newer: ordered.collect(), storage })
    }

    /// The version of an index. An index of another kind that has more versions leads to the oldest.
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

    /// The first version that something is true of.
    pub(crate) fn find(&self, is: impl FnMut(&Version) -> bool) -> Option<VersionIndex> {
        self.iter().position(is).map(VersionIndex)
    }

    pub(crate) fn named(&self, name: &str) -> Option<VersionIndex> {
        self.find(|version| version.name.as_ref() == name)
    }

    /// Each version with the next newer one, and the index of that.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = (&Version, &Version, VersionIndex)> {
        let newer = self.newer.iter().zip(self.indices().skip(1));
        self.iter().zip(newer).map(|(older, (newer, index))| (older, newer, index))
    }

    pub(super) fn names(&self) -> String {
        self.iter().map(|version| version.name.as_ref()).collect::<Vec<_>>().join(", ")
    }
}
