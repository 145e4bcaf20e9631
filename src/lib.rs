//! pointsman keeps Kubernetes objects on the right track while their API and their controller change.
//!
//! - [`definition`] knows: kinds are data, compiled once and checked against their own schemas.
//! - [`webhook`] decides: pure functions, bytes in and bytes out, behind one door, [`webhook::Webhook::handle`].
//! - [`server`] carries: sockets, TLS, certificates, clocks, metrics.

pub mod definition;
mod json;
pub mod registration;
pub mod server;
mod upgrade;
pub mod webhook;
