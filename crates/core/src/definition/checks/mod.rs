//! What a rollout must not begin, or go on, without, as data: the CRD, the path, what a version needs, controllers,
//! other objects of the cluster, numbers of Prometheus, and servers that answer.

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
