//! Lookups that a plan needs from the cluster, and their results.

pub(crate) mod http_probe;
pub(crate) mod mutation_state;
pub(crate) mod other_cluster;
pub(crate) mod place;
pub(crate) mod probe_result;
pub(crate) mod prometheus;
pub(crate) mod request;
pub(crate) mod results;
