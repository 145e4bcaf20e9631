//! Metrics, in a separate registry per server. Labels never contain values from clients.

mod certificates;
mod connections;
mod decisions;
mod definitions;
mod facts;
mod logs;
mod memory;
mod registry;
mod reloads;
mod requests;
mod server;
mod spans;

pub(crate) use self::connections::{ADMIN, WEBHOOKS};
pub(crate) use self::logs::LogMetrics;
pub(crate) use self::requests::{GivenUp, InFlight};
pub(crate) use self::server::Metrics;
pub(crate) use self::spans::SpanMetrics;
