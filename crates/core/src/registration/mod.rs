//! The documents that are registered in a cluster: CRDs with conversion, webhook configurations of a controller
//! version, and the policies that guard the version label, stored data and frozen resources. Also the removal of a
//! version ([`retire()`]), copies of an operator's webhooks for each version ([`overlay()`]), and checks of existing
//! documents ([`inspect`]). Pure functions of documents: this module neither reads nor writes a cluster.

mod address;
mod admission_webhooks;
mod ca_bundle;
mod cel;
mod change_example;
mod client_config;
mod crd;
mod crd_change;
mod crd_guard;
mod crd_impact;
mod difference;
mod doctor;
mod document;
mod drift;
mod expected_diff;
mod finding;
mod guard;
mod incomplete;
mod mutation_policies;
mod mutation_webhooks;
mod names;
mod overlay;
mod policies;
mod promotion_policy;
mod registered_versions;
mod registrations;
mod retire;
mod schema_change;
mod schema_rules;
mod selector_gaps;
mod server_flags;
mod servers;
#[cfg(test)]
mod tests;

pub use address::{Address, BadAddress, NamespacedName, Service, Url};
pub use admission_webhooks::{Selection, webhooks};
pub use ca_bundle::{BadBundle, CaBundle};
pub use cel::literal;
pub use client_config::{ClientConfig, Trust};
pub use crd::{CrdOptions, NoSuchVersion, SchemaRules, crd};
pub use crd_change::{crd_file_changes, definition_changes};
pub use crd_guard::crd_guard;
pub use crd_impact::{CrdChange, Impact};
pub use difference::{Difference, differences};
pub use doctor::inspect;
pub use document::{Component, metadata, not_being_deleted, with_api_defaults};
pub use drift::{drift, lacking};
pub use finding::Finding;
pub use guard::{GuardMode, guard, unserved};
pub use incomplete::incomplete;
pub use mutation_policies::{MutationPolicies, mutation_policies};
pub use mutation_webhooks::mutation_webhooks;
pub use overlay::{BadOverlay, Overlaid, overlay, overlay_all};
pub use promotion_policy::promoting;
pub use registered_versions::{RegisteredDefault, RegisteredVersions, registered_versions};
pub use retire::{RetireStep, retire};
pub use schema_rules::rules_left_out;
