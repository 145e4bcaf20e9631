//! The admin address: probes, metrics, last errors, and the dev page.

pub(crate) mod dev_page;
pub(crate) mod endpoints;
