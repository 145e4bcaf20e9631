//! The documents that are registered in a cluster: CRDs with conversion, webhook configurations of a controller
//! version, and the policies that guard the version label, stored data and frozen resources. Also the removal of a
//! version ([`retire()`]), copies of an operator's webhooks for each version ([`overlay()`]), and checks of existing
//! documents ([`inspect`]). Pure functions of documents: this module neither reads nor writes a cluster.

mod address;
mod admission_webhooks;
mod ca_bundle;
mod changes;
mod client_config;
mod crd;
mod document;
mod guards;
mod inspection;
mod mutation_policies;
mod mutation_webhooks;
mod names;
mod overlay;
mod retire;
mod schema_rules;
#[cfg(test)]
mod tests;

pub use address::{Address, BadAddress, NamespacedName, Service, Url};
pub use admission_webhooks::{Selection, webhooks};
pub use ca_bundle::{BadBundle, CaBundle};
pub use changes::crd_change::{crd_file_changes, definition_changes};
pub use changes::crd_impact::{CrdChange, Impact};
pub use client_config::{ClientConfig, Trust};
pub use crd::{CrdOptions, NoSuchVersion, SchemaRules, crd};
pub use document::{Component, metadata, not_being_deleted, with_api_defaults};
pub use guards::cel::literal;
pub use guards::crd_guard::crd_guard;
pub use guards::guard::{GuardMode, guard, unserved};
pub use guards::incomplete::incomplete;
pub use guards::promotion_policy::promoting;
pub use inspection::difference::{Difference, differences};
pub use inspection::doctor::inspect;
pub use inspection::drift::{drift, lacking};
pub use inspection::finding::Finding;
pub use inspection::registered_versions::{RegisteredDefault, RegisteredVersions, registered_versions};
pub use mutation_policies::{MutationPolicies, mutation_policies};
pub use mutation_webhooks::mutation_webhooks;
pub use overlay::{BadOverlay, Overlaid, overlay, overlay_all};
pub use retire::{RetireStep, retire};
pub use schema_rules::rules_left_out;
