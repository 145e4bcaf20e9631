//! The integration tests: one binary, one module per boundary.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod cli;
mod connections;
mod http;
mod overload;
mod reload;
mod serve;
mod shutdown;
mod support;
mod tls;
