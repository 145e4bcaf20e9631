//! A version that runs, and how it compares with others.

use serde::{Deserialize, Serialize};

use crate::upgrade;

/// A version that runs.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OrderedVersion {
    /// As the label has it.
    pub version: String,
    /// The same so that texts are in the order of versions: policies compare them on any Kubernetes.
    pub order: String,
}

impl OrderedVersion {
    /// Of a version as a label has it. Nothing where it is none.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let version = upgrade::version(text)?;
        // What comes before a release comes before it here as well.
        let release = if version.pre.is_empty() { '~' } else { '-' };
        let order = format!("{:020}.{:020}.{:020}{release}", version.major, version.minor, version.patch);
        Some(Self { version: text.to_owned(), order })
    }
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
