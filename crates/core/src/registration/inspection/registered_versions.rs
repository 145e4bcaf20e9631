//! The controller versions that are registered for a kind.

use serde_json::Value;

use super::registrations::{Registered, Selects, registered};
use crate::definition::Kind;

/// The versions with webhooks, and the version of objects without a label.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RegisteredVersions {
    /// Versions with their own configurations.
    pub served: Vec<String>,
    /// The version that takes objects without a label.
    pub default: RegisteredDefault,
}

/// The version of objects without a label, determined by the called server.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RegisteredDefault {
    /// No configuration selects them.
    Unassigned,
    /// The server belongs to no version, or to several.
    Unclear,
    /// This version.
    Version(String),
}

/// Reads the versions from documents. `None` without a pointsman document. Ignores other documents.
#[must_use]
pub fn registered_versions(kind: &Kind, documents: &[Value]) -> Option<RegisteredVersions> {
    let all = registered(kind, documents);
    let enforcing: Vec<&Registered<'_>> = all.iter().filter(|one| one.enforces()).collect();
    let mut served = Vec::new();
    for one in &enforcing {
        if let Selects::Version(version) = &one.is_for
            && !served.contains(version)
        {
            served.push(version.clone());
        }
    }
    let mut servers: Vec<String> =
        enforcing.iter().filter(|one| one.is_for == Selects::Unlabelled).map(|one| one.server()).collect();
    servers.dedup();
    let default = match servers.as_slice() {
        [] => RegisteredDefault::Unassigned,
        [server] => {
            let called = |version: &&String| {
                let is_its = |one: &&&Registered<'_>| one.is_for == Selects::Version((*version).clone());
                enforcing.iter().filter(is_its).any(|one| one.server() == *server)
            };
            let versions: Vec<&String> = served.iter().filter(called).collect();
            match versions.as_slice() {
                [version] => RegisteredDefault::Version((*version).clone()),
                _ => RegisteredDefault::Unclear,
            }
        }
        _ => RegisteredDefault::Unclear,
    };
    (!enforcing.is_empty()).then_some(RegisteredVersions { served, default })
}
