//! Who converts the objects of a CRD: where it says that its webhook is, who is behind that, and how they are reached.

mod client_stanza;
mod endpoints;
mod tls_client;

pub(crate) use client_stanza::ClientStanza;
pub(crate) use endpoints::{NoEndpoints, endpoints};
pub(crate) use tls_client::{TlsClient, Unconnected};
