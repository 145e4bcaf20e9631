//! Controller versions.

use std::str::FromStr;

use semver::Version;

use crate::{apimachinery::is_label_value, definition::upgrade};

/// A controller version, as written in labels.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ControllerVersion {
    text: String,
    version: Version,
}

/// A text that is no controller version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is no controller version: use the value of the label, such as 2.17.0")]
pub struct NotAVersion(String);

impl FromStr for ControllerVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match upgrade::version(text).filter(|_| is_label_value(text)) {
            Some(version) => Ok(Self { text: text.to_owned(), version }),
            None => Err(NotAVersion(text.to_owned())),
        }
    }
}

impl ControllerVersion {
    /// The version as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The version for comparison.
    pub(super) fn version(&self) -> &Version {
        &self.version
    }
}
