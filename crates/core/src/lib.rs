//! The core of pointsman: converts Kubernetes custom resources between API versions, as pure functions.
//!
//! - [`definition`]: kinds as data, compiled once and checked against their own schemas, and paths between controller
//!   versions ([`definition::upgrade`]).
//! - [`draft`]: guesses a definition from the schemas of a CRD.
//! - [`webhook`]: the decisions, bytes in and bytes out, with the entry point [`webhook::Webhook::handle`].
//! - `laws` (a feature): tests any kind with objects generated from its own schemas.
//! - [`json`], [`apimachinery`]: JSON as text, and conventions of Kubernetes. For crates that build on this one.
//! - [`registration`]: generates the documents for registration in a cluster, and checks existing ones.

pub mod apimachinery;
pub mod definition;
pub mod draft;
pub mod json;
#[cfg(feature = "laws")]
pub mod laws;
pub mod registration;
pub mod webhook;

pub use apimachinery::{BadDuration, BadSize, ResourceName, did_you_mean, parse_duration, parse_size};
pub use json::{pointer_names, pointer_token};
