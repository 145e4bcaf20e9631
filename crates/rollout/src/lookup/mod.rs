//! Lookups that a plan needs from the cluster, and their results.

pub(crate) mod http;
pub(crate) mod request;
pub(crate) mod results;
