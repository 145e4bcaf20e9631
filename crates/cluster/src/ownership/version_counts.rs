//! Counts of objects that refer to versions of their own kind, by place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_owners::entry_versions;
use super::owner_references::owner_versions;

/// Objects that refer to a version of their kind, by version.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct VersionCounts {
    /// In an entry of `metadata.managedFields`.
    pub managed: BTreeMap<String, u64>,
    /// In the annotation of client-side apply.
    pub applied: BTreeMap<String, u64>,
    /// In an owner reference to an object of the same kind.
    pub owned: BTreeMap<String, u64>,
}

impl VersionCounts {
    /// Counts an object of this group and kind.
    pub(crate) fn add(&mut self, object: &Value, group: &str, kind: &str) {
        for version in owner_versions(object, group, kind) {
            *self.owned.entry(version.to_owned()).or_default() += 1;
        }
        for version in entry_versions(object, group) {
            *self.managed.entry(version.to_owned()).or_default() += 1;
        }
        if let Some(version) = last_applied_version(object, group) {
            *self.applied.entry(version).or_default() += 1;
        }
    }

    /// The places that refer to a version, such as `managedFields of 2`; empty if none.
    #[must_use]
    pub fn words(&self, version: &str) -> String {
        let places = [
            ("managedFields", &self.managed),
            ("the last-applied annotation", &self.applied),
            ("owner references", &self.owned),
        ];
        let counted = places.iter().filter_map(|(place, counts)| Some(format!("{place} of {}", counts.get(version)?)));
        counted.collect::<Vec<_>>().join(", ")
    }

    /// Without the given versions.
    #[must_use]
    pub(crate) fn without(mut self, stay: &[&str]) -> Self {
        self.managed.retain(|version, _| !stay.contains(&version.as_str()));
        self.applied.retain(|version, _| !stay.contains(&version.as_str()));
        self.owned.retain(|version, _| !stay.contains(&version.as_str()));
        self
    }
}

/// The version in the client-side apply annotation.
pub(crate) fn last_applied_version(object: &Value, group: &str) -> Option<String> {
    let text = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    let applied: Value = serde_json::from_str(text).ok()?;
    let version = applied.get("apiVersion")?.as_str()?.strip_prefix(group)?.strip_prefix('/')?;
    Some(version.to_owned())
}

/// The annotation by which `kubectl apply` detects fields removed from a manifest.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
