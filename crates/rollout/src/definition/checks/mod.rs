//! The checks of a rollout, as data: the CRD, the upgrade path, prerequisites of a version, controllers, other objects
//! of the cluster, Prometheus metrics, and HTTP probes.

mod check_name;
mod http;
mod list_check;
mod metric_check;
mod metric_query;
mod named_check;
mod spec;
mod start_check;

pub use http::address::{BadHttpAddress, HttpAddress};
pub(crate) use http::check::HttpCheck;
pub use http::quotation::quoted_in_address;
pub(crate) use list_check::ListCheck;
pub(crate) use metric_check::MetricCheck;
pub(crate) use named_check::NamedCheck;
pub(super) use spec::ChecksSpec;
pub(crate) use start_check::{Checks, StartCheck};
