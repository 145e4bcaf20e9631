//! The checks of a rollout, as data: the CRD, the upgrade path, prerequisites of a version, controllers, other objects
//! of the cluster, Prometheus metrics, and HTTP probes.

mod address_template;
mod check_name;
mod http_address;
mod http_check;
mod list_check;
mod metric_check;
mod metric_query;
mod named_check;
mod quotation;
mod spec;
mod start_check;

pub use http_address::{BadHttpAddress, HttpAddress};
pub(crate) use http_check::HttpCheck;
pub(crate) use list_check::ListCheck;
pub(crate) use metric_check::MetricCheck;
pub(crate) use named_check::NamedCheck;
pub use quotation::quoted_in_address;
pub(super) use spec::ChecksSpec;
pub(crate) use start_check::{Checks, StartCheck};
