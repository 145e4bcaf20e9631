//! Why an object cannot be converted.

use std::fmt;

use crate::webhook::caller::CallerGone;
use crate::{apimachinery::excerpt, definition::Kind, json::Duplicate};

/// Why an object cannot be converted: the field, and what is wrong with it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConvertError {
    /// Whoever wanted it waits no longer.
    CallerGone,
    /// An object names a member twice, and readers disagree which one counts.
    NamedTwice {
        /// The object.
        path: String,
        /// The member.
        name: String,
    },
    /// The rollout hash was asked for of a kind whose definition has none.
    NoRolloutHash {
        /// The kind.
        kind: String,
    },
    /// `metadata.annotations` is something else than an object.
    NotAMapOfStrings {
        /// What it is, with an article.
        found: &'static str,
    },
    /// An object is needed here to go on.
    NotAnObject {
        /// The field.
        path: String,
        /// What it is, with an article.
        found: &'static str,
    },
    /// `apiVersion` or `kind` is missing or no string.
    NotAString {
        /// The field.
        path: String,
    },
    /// The text is not JSON.
    NotJson {
        /// What is wrong with it, and where.
        reason: String,
    },
    /// What the object becomes hangs on a fact that nobody told.
    UnknownFact {
        /// The field that names the Secret where it is looked up.
        path: String,
        /// The fact, by the name that the definition gives it.
        fact: String,
        /// The Secret that the field names.
        secret: String,
        /// The key of the Secret: where it is set, the fact is true.
        key: String,
    },
    /// No definition is of this group and kind.
    UnknownKind {
        /// The group, short enough for a message.
        group: String,
        /// The kind, short enough for a message.
        kind: String,
        /// The kinds that have a definition, as `Kind.group`.
        known: Vec<String>,
    },
    /// The object is in, or was asked for in, a version that its kind does not have.
    UnknownVersion {
        /// Who names the version: `apiVersion` or `desiredAPIVersion`.
        path: &'static str,
        /// The version as it was named.
        version: String,
        /// The kind.
        kind: String,
        /// The versions it has, as `group/version`.
        known: Vec<String>,
    },
}

impl ConvertError {
    /// The field that stands in the way. Never empty.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::NotAMapOfStrings { .. } => "metadata.annotations",
            Self::NoRolloutHash { .. } | Self::UnknownKind { .. } => "kind",
            Self::CallerGone | Self::NotJson { .. } => "object",
            Self::UnknownVersion { path, .. } => path,
            Self::NamedTwice { path, .. } | Self::NotAString { path } | Self::NotAnObject { path, .. } => path,
            Self::UnknownFact { path, .. } => path,
        }
    }

    /// What is wrong with the field, for people. Never empty.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::CallerGone => "is waited for by nobody any more".to_owned(),
            Self::NamedTwice { name, .. } => format!("names {name:?} twice"),
            Self::NoRolloutHash { kind } => format!("{kind} has no rollout hash"),
            Self::NotAMapOfStrings { found } => format!("must be a map of strings, not {found}"),
            Self::NotAnObject { found, .. } => format!("must be an object, not {found}"),
            Self::NotAString { .. } => "must be a string".to_owned(),
            Self::NotJson { reason } => format!("is not JSON: {reason}"),
            Self::UnknownFact { fact, secret, key, .. } => format!(
                "what becomes of it hangs on the fact {fact}, which is true if the Secret {} has the key {key}, and nobody \
                 said so: wait until it can be read, or say --fact {fact}=true or {fact}=false",
                excerpt(secret)
            ),
            Self::UnknownKind { group, kind, known } => {
                format!("{kind}.{group} is not served here; known are {}", known.join(", "))
            }
            Self::UnknownVersion { version, kind, known, .. } => {
                format!("{version:?} is no version of {kind}; it has {}", known.join(", "))
            }
        }
    }

    pub(super) fn named_twice(path: &str, duplicate: Duplicate) -> Self {
        Self::NamedTwice { path: path.to_owned(), name: excerpt(&duplicate.0) }
    }

    /// A version that a kind does not have, named at `path`.
    pub(crate) fn unknown_version(path: &'static str, version: &str, kind: &Kind) -> Self {
        Self::UnknownVersion {
            path,
            version: excerpt(version),
            kind: kind.kind.clone(),
            known: kind.versions.iter().map(|version| version.api_version.clone()).collect(),
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.reason())
    }
}

impl std::error::Error for ConvertError {}

impl From<CallerGone> for ConvertError {
    fn from(_: CallerGone) -> Self {
        Self::CallerGone
    }
}
