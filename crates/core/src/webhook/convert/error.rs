//! Conversion errors.

use std::fmt;

use crate::webhook::caller::ClientDisconnected;
use crate::{apimachinery::excerpt, definition::Kind, json::Duplicate};

/// Why an object cannot be converted: the field, and the error.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The client has disconnected.
    ClientDisconnected,
    /// An object has a duplicate member, for which readers disagree.
    NamedTwice {
        /// The object.
        path: String,
        /// The member.
        name: String,
    },
    /// The rollout hash was requested for a kind without one.
    NoRolloutHash {
        /// The kind.
        kind: String,
    },
    /// `metadata.annotations` is no object.
    NotAMapOfStrings {
        /// The actual type, with an article.
        found: &'static str,
    },
    /// The value must be an object.
    NotAnObject {
        /// The field.
        path: String,
        /// The actual type, with an article.
        found: &'static str,
    },
    /// `apiVersion` or `kind` is absent or no string.
    NotAString {
        /// The field.
        path: String,
    },
    /// The text is not JSON.
    NotJson {
        /// The error and its position.
        reason: String,
    },
    /// The conversion depends on an unknown fact.
    UnknownFact {
        /// The field with the name of the Secret for the lookup.
        path: String,
        /// The name of the fact in the definition.
        fact: String,
        /// The Secret that the field names.
        secret: String,
        /// The key of the Secret. If the key is set, the fact is true.
        key: String,
    },
    /// No definition exists for this group and kind.
    UnknownKind {
        /// The group, short enough for a message.
        group: String,
        /// The kind, short enough for a message.
        kind: String,
        /// The kinds with a definition, as `Kind.group`.
        known: Vec<String>,
    },
    /// The current or the desired version of the object does not exist in its kind.
    UnknownVersion {
        /// The source of the version: `apiVersion` or `desiredAPIVersion`.
        path: &'static str,
        /// The unknown version.
        version: String,
        /// The kind.
        kind: String,
        /// The versions of the kind, as `group/version`.
        known: Vec<String>,
    },
}

impl ConvertError {
    /// The field that prevents the conversion. Never empty.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::NotAMapOfStrings { .. } => "metadata.annotations",
            Self::NoRolloutHash { .. } | Self::UnknownKind { .. } => "kind",
            Self::ClientDisconnected | Self::NotJson { .. } => "object",
            Self::UnknownVersion { path, .. } => path,
            Self::NamedTwice { path, .. } | Self::NotAString { path } | Self::NotAnObject { path, .. } => path,
            Self::UnknownFact { path, .. } => path,
        }
    }

    /// Describes the error of the field. Never empty.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::ClientDisconnected => "was given up: the client has disconnected".to_owned(),
            Self::NamedTwice { name, .. } => format!("names {name:?} twice"),
            Self::NoRolloutHash { kind } => format!("{kind} has no rollout hash"),
            Self::NotAMapOfStrings { found } => format!("must be a map of strings, not {found}"),
            Self::NotAnObject { found, .. } => format!("must be an object, not {found}"),
            Self::NotAString { .. } => "must be a string".to_owned(),
            Self::NotJson { reason } => format!("is not JSON: {reason}"),
            Self::UnknownFact { fact, secret, key, .. } => format!(
                "the conversion needs the fact {fact}, which is true if the Secret {} has the key {key}, but is \
                     unknown: wait until the Secret is readable, or set --fact {fact}=true or {fact}=false",
                excerpt(secret)
            ),
            Self::UnknownKind { group, kind, known } => {
                let dot = if group.is_empty() { "" } else { "." };
                format!("{kind}{dot}{group} is not served here; known kinds: {}", known.join(", "))
            }
            Self::UnknownVersion { version, kind, known, .. } => {
                format!("{version:?} is no version of {kind}; known versions: {}", known.join(", "))
            }
        }
    }

    pub(super) fn named_twice(path: &str, duplicate: Duplicate) -> Self {
        Self::NamedTwice { path: path.to_owned(), name: excerpt(&duplicate.0) }
    }

    /// A version that the kind does not have, named at `path`.
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

impl From<ClientDisconnected> for ConvertError {
    fn from(_: ClientDisconnected) -> Self {
        Self::ClientDisconnected
    }
}
