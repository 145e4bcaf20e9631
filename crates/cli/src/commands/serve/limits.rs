//! The resource and time limits of `serve`.

use std::time::Duration;

use clap::Args;
use pointsman_core::{parse_duration, parse_size};

/// Resource and time limits.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Maximum size of a request body, such as 64Mi. Admission reviews have a limit of 8Mi, and a body is limited to an
    /// eighth of the memory budget.
    #[arg(long, value_name = "SIZE", value_parser = some_size, default_value = "64Mi", env = "POINTSMAN_MAX_BODY")]
    pub max_body: u64,
    /// Memory for requests and responses of all connections: 16Mi or more. [default: derived from the cgroup's memory
    /// limit, at most 512Mi]
    #[arg(long, value_name = "SIZE", value_parser = some_budget, env = "POINTSMAN_MEMORY_BUDGET")]
    pub memory_budget: Option<u64>,
    /// Maximum number of connections. [default: derived from the cgroup's memory limit, at most 2048]
    #[arg(long, value_name = "COUNT", value_parser = some_connections, env = "POINTSMAN_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// Time limit to receive and handle a request. A shorter ?timeout= of the client takes precedence.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s",
          env = "POINTSMAN_REQUEST_TIMEOUT")]
    pub request_timeout: Duration,
    /// Time limit for a client to read its response.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s",
          env = "POINTSMAN_WRITE_TIMEOUT")]
    pub write_timeout: Duration,
    /// Time limit for a connection without a request. Use at least 120s in production: API servers keep connections for
    /// 90s, and do not repeat a call on a closing connection.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "125s",
          env = "POINTSMAN_IDLE_TIMEOUT")]
    pub idle_timeout: Duration,
}

/// A positive size.
fn some_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    (size > 0).then_some(size).ok_or_else(|| "must be more than 0".to_owned())
}

/// A budget that suffices for any object: etcd accepts 1.5 MiB (`--max-request-bytes`), and a body is limited to an
/// eighth.
fn some_budget(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    (size >= LEAST).then_some(size).ok_or_else(|| {
        "must be at least 16Mi: one body may use an eighth of the budget, and an object can have 1.5Mi".to_owned()
    })
}

/// 16 MiB.
const LEAST: u64 = 16 << 20;

/// At least one connection.
fn some_connections(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "takes an integer".to_owned())?;
    (count > 0).then_some(count).ok_or_else(|| "must be at least 1".to_owned())
}
