//! The kinds of one server, and whose an object is.

use super::convert::{ConvertError, Object};
use crate::{apimachinery::excerpt, definition::Kind};

/// Two definitions of one kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{kind}.{group} is defined twice, as {first:?} and as {second:?}: remove one")]
pub struct DefinedTwice {
    /// The kind.
    pub kind: String,
    /// Its group.
    pub group: String,
    /// The name of the first definition.
    pub first: String,
    /// The name of the second one.
    pub second: String,
}

/// Kinds of which no two are the same.
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
