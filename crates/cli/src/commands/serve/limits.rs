//! The flags that bound what `serve` holds and for how long.

use std::time::Duration;

use clap::Args;
use pointsman_core::{parse_duration, parse_size};

/// What is held at one time, and for how long.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Largest request body, such as 64Mi. Admission reviews keep their own limit of 8Mi where this is larger, and no
    /// body is taken of which the memory budget is not eight times the size.
    #[arg(long, value_name = "SIZE", value_parser = some_size, default_value = "64Mi", env = "POINTSMAN_MAX_BODY")]
    pub max_body: u64,
    /// Memory for requests and their answers, over all connections: 16Mi or more. [default: what fits into the cgroup's
    /// memory limit, at most 512Mi]
    #[arg(long, value_name = "SIZE", value_parser = some_budget, env = "POINTSMAN_MEMORY_BUDGET")]
    pub memory_budget: Option<u64>,
    /// Connections held at one time. [default: what fits into the cgroup's memory limit, at most 2048]
    #[arg(long, value_name = "COUNT", value_parser = some_connections, env = "POINTSMAN_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// How long a request may take to arrive and be decided; a shorter ?timeout= of the caller's prevails.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "30s",
          env = "POINTSMAN_REQUEST_TIMEOUT")]
    pub request_timeout: Duration,
    /// How long a client may take to read its answer.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s",
          env = "POINTSMAN_WRITE_TIMEOUT")]
    pub write_timeout: Duration,
    /// How long a connection may stay without a request. Not below 120s in production: API servers keep theirs for 90s,
    /// and do not repeat a call that meets a closing connection.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "125s",
          env = "POINTSMAN_IDLE_TIMEOUT")]
    pub idle_timeout: Duration,
}

/// A body that is something.
fn some_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    (size > 0).then_some(size).ok_or_else(|| "no request would be taken".to_owned())
}

/// A budget with which an object can be decided at all: etcd takes 1.5 MiB (`--max-request-bytes`), and a body may take
/// an eighth.
fn some_budget(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    (size >= LEAST).then_some(size).ok_or_else(|| {
        "less than 16Mi: no body is taken of which this is not eight times the size, and an object may have 1.5Mi"
            .to_owned()
    })
}

/// 16 MiB.
const LEAST: u64 = 16 << 20;

/// One connection or more.
fn some_connections(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "takes a whole number".to_owned())?;
    (count > 0).then_some(count).ok_or_else(|| "nobody could connect".to_owned())
}
