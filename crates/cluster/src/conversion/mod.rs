//! The conversion webhook of a CRD: its address, endpoints and connections.

mod client_stanza;
mod endpoints;
mod self_test;
mod tls_client;

pub(crate) use client_stanza::{ClientStanza, WebhookPlace, client_config};
pub(crate) use endpoints::{NoEndpoints, Replica, endpoints, replicas};
pub use self_test::Probe;
pub(crate) use self_test::SelfTest;
pub(crate) use tls_client::{TlsClient, Unconnected};
