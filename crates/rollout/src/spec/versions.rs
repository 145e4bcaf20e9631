//! Running versions of a fleet, in order.

use pointsman_core::definition::upgrade;
use serde::{Deserialize, Serialize};

/// A running version.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OrderedVersion {
    /// As in the label.
    pub version: String,
    /// A form that sorts as text in version order, since policies compare text on any Kubernetes.
    pub order: String,
}

impl OrderedVersion {
    /// Parses the version of a label. `None` if invalid.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let version = upgrade::version(text)?;
        // A pre-release sorts before its release.
        let release = if version.pre.is_empty() { '~' } else { '-' };
        let order = format!("{:020}.{:020}.{:020}{release}", version.major, version.minor, version.patch);
        Some(Self { version: text.to_owned(), order })
    }
}

/// The lowest and the highest version that may be running.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct VersionRange {
    /// No older version runs.
    pub lowest: OrderedVersion,
    /// No newer version runs.
    pub highest: OrderedVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_sort_like_versions() {
        let versions =
            ["v0.9", "1.2.3-rc.1", "1.2.3", "1.2.4", "1.10", "v2", "10.0.0-beta", "10.0.0", "18446744073709551615"];
        let orders: Vec<String> = versions.iter().map(|text| OrderedVersion::of(text).unwrap().order).collect();
        assert!(orders.is_sorted_by(|one, two| one < two), "{orders:#?}");
        let same =
            |one: &str, two: &str| OrderedVersion::of(one).unwrap().order == OrderedVersion::of(two).unwrap().order;
        assert!(same("v1.2", "1.2.0") && same("1.2.3+a", "1.2.3+b"));
        for text in ["", "latest", "1.2.3.4", "1.x"] {
            assert_eq!(OrderedVersion::of(text), None, "{text}");
        }
    }
}
