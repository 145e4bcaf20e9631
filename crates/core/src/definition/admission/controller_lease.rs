//! The Leases of controller versions. Each version has its own Lease, so that two versions run side by side.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::apimachinery::{is_dns_label, is_dns_subdomain};

/// The Lease that a controller version holds while it runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Lease")]
pub struct ControllerLease {
    /// The namespace of the Lease and of the controllers.
    namespace: String,
    /// The name of the Lease, with the placeholder `{version}`. In the version, dots become dashes:
    /// `elastic-operator-leader-v{version}` is `elastic-operator-leader-v2-16-1` for `2.16.1`.
    name: String,
}

impl ControllerLease {
    /// Namespace and name of the Lease of a version.
    pub fn of(&self, version: &str) -> (String, String) {
        (self.namespace.clone(), self.name.replace(PLACE, &version.replace('.', "-")))
    }

    /// Returns the first problem, for the versions that a definition names.
    pub(super) fn problem<'v>(&self, versions: impl Iterator<Item = &'v str>) -> Option<String> {
        if !is_dns_label(&self.namespace) {
            return Some(format!("lease: {:?} is no name of a namespace", self.namespace));
        }
        if self.name.matches(PLACE).count() != 1 {
            return Some(format!(
                "lease: {:?} must contain {PLACE} once: with a shared Lease, two versions cannot run side by side",
                self.name
            ));
        }
        let (_, name) = self.of("1.2.3");
        if !is_dns_subdomain(&name) {
            return Some(format!(
                "lease: {name:?} is no name of a Lease: use lower case letters, digits, hyphens, dots"
            ));
        }
        let versions: Vec<&str> = versions.collect();
        let pairs =
            versions.iter().enumerate().flat_map(|(at, one)| versions.iter().skip(at + 1).map(move |two| (one, two)));
        let (one, two) = pairs.into_iter().find(|(one, two)| self.collide(one, two))?;
        Some(format!("lease: {one} and {two} are different versions, and both would hold {}", self.of(one).1))
    }

    /// Returns whether two versions would use the same Lease.
    pub fn collide(&self, one: &str, two: &str) -> bool {
        one != two && self.of(one) == self.of(two)
    }
}

/// The placeholder for the version.
const PLACE: &str = "{version}";
