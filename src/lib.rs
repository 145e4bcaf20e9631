//! pointsman keeps Kubernetes objects on the right track while their API and their controller change.
//!
//! - [`webhook`] decides: pure functions, bytes in and bytes out, behind one door, [`webhook::Webhook::handle`].
//! - [`server`] carries: sockets, TLS, certificates, clocks, metrics.

pub mod server;
pub mod webhook;
