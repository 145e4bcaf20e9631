//! The integration tests: one binary, one module per boundary.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod admission;
mod captures;
mod cli;
mod connections;
mod contract;
mod docs;
mod fixtures;
mod http;
mod kinds;
mod laws;
mod overload;
mod readme;
mod registration;
mod reload;
mod schemas;
mod serve;
mod shutdown;
mod support;
mod tidy;
mod tls;
mod value;
