//! Metrics, spans and log lines.

pub(crate) mod error_chain;
pub(crate) mod fact_source;
pub(crate) mod labels;
pub(crate) mod last_errors;
pub(crate) mod line_limits;
pub(crate) mod line_window;
pub(crate) mod log;
pub(crate) mod log_queue;
pub(crate) mod metrics;
pub(crate) mod printable;
pub(crate) mod spans;
pub(crate) mod throttle;
