//! The kinds of a server.

use super::convert::{ConvertError, Object};
use crate::apimachinery::excerpt;
use crate::definition::{Kind, MutatedKind};

/// Two definitions for one kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{kind}.{group} is defined twice, as {first:?} and as {second:?}: remove one")]
pub struct DefinedTwice {
    /// The kind.
    pub kind: String,
    /// The group.
    pub group: String,
    /// The name of the first definition.
    pub first: String,
    /// The name of the second definition.
    pub second: String,
}

/// A set of distinct kinds.
#[derive(Debug)]
pub(super) struct Kinds(Vec<Kind>);

impl Kinds {
    pub(super) fn new(kinds: Vec<Kind>) -> Result<Self, DefinedTwice> {
        for (index, kind) in kinds.iter().enumerate() {
            let same =
                |other: &&Kind| (&other.group, &other.kind) == (&kind.group, &kind.kind) || other.name == kind.name;
            if let Some(other) = kinds.iter().take(index).find(same) {
                let (first, second) = (other.name.to_string(), kind.name.to_string());
                return Err(DefinedTwice { kind: kind.kind.clone(), group: kind.group.clone(), first, second });
            }
        }
        Ok(Self(kinds))
    }

    /// Checks that mutated kinds are distinct from these kinds and from each other.
    pub(super) fn allows(&self, mutated: &[MutatedKind]) -> Result<(), DefinedTwice> {
        for (index, one) in mutated.iter().enumerate() {
            let is_same =
                |group: &str, kind: &str, name: &str| (group, kind) == (one.group(), one.kind()) || name == one.name();
            let kinds = self.0.iter().map(|kind| (kind.group(), kind.kind(), kind.name()));
            let others = mutated.iter().take(index).map(|other| (other.group(), other.kind(), other.name()));
            let same = kinds.chain(others).find(|(group, kind, name)| is_same(group, kind, name));
            if let Some((_, _, first)) = same {
                let (first, second) = (first.to_owned(), one.name().to_owned());
                return Err(DefinedTwice { kind: one.kind.clone(), group: one.group.clone(), first, second });
            }
        }
        Ok(())
    }

    pub(super) fn all(&self) -> &[Kind] {
        &self.0
    }

    pub(super) fn of(&self, object: &Object<'_>) -> Result<&Kind, ConvertError> {
        let group = object.api_version.split_once('/').map_or("", |(group, _)| group);
        self.named(group, &object.kind)
    }

    pub(super) fn named(&self, group: &str, name: &str) -> Result<&Kind, ConvertError> {
        self.0.iter().find(|kind| kind.has(group, name)).ok_or_else(|| {
            let known = self.0.iter().map(|kind| format!("{}.{}", kind.kind, kind.group));
            let (group, kind) = (excerpt(group), excerpt(name));
            ConvertError::UnknownKind { group, kind, known: known.collect() }
        })
    }
}
