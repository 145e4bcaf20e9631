//! Who converts the objects of a CRD: where it says that its webhook is, who is behind that, and how they are reached.

mod client_stanza;
mod endpoints;
mod self_test;
mod tls_client;

pub(crate) use client_stanza::{ClientStanza, WebhookPlace, client_config};
pub(crate) use endpoints::{NoEndpoints, Replica, endpoints, replicas};
pub use self_test::Probe;
pub(crate) use self_test::SelfTest;
pub(crate) use tls_client::{TlsClient, Unconnected};
