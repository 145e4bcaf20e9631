//! What pointsman decides: Kubernetes custom resources between the versions of their API, as pure functions.
//!
//! - [`definition`] knows: kinds are data, compiled once and checked against their own schemas.
//! - [`webhook`] decides: bytes in and bytes out, behind one door, [`webhook::Webhook::handle`].
//! - `laws` (a feature) judges: any kind, over objects made from its own schemas.
//! - [`rollout`] moves a fleet from one controller version to another, wave by wave: it says what is to be written
//!   next.
//! - [`registration`] makes the documents by which a cluster comes to ask, and says what does not fit in those it has.

mod apimachinery;
pub mod definition;
mod json;
#[cfg(feature = "laws")]
pub mod laws;
pub mod registration;
pub mod rollout;
mod upgrade;
pub mod webhook;

pub use apimachinery::{BadDuration, BadSize, ResourceName, did_you_mean, parse_duration, parse_size};
pub use json::{pointer_names, pointer_token};
