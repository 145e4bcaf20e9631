//! A real API server, and the environment of the scenarios.

pub(crate) mod acting;
pub(crate) mod apiserver;
pub(crate) mod assets;
pub(crate) mod balancer;
pub(crate) mod cert_manager;
pub(crate) mod client;
pub(crate) mod ctx;
pub(crate) mod etcd;
pub(crate) mod fake_operators;
pub(crate) mod garden;
pub(crate) mod installations;
pub(crate) mod kubectl;
pub(crate) mod metrics;
pub(crate) mod null_webhooks;
pub(crate) mod pki;
pub(crate) mod pointsman;
pub(crate) mod printed;
pub(crate) mod process;
pub(crate) mod processors;
pub(crate) mod proxy;
pub(crate) mod rights;
pub(crate) mod rolling;
pub(crate) mod sample;
pub(crate) mod side_by_side;
pub(crate) mod test_cluster;
pub(crate) mod verbs;
