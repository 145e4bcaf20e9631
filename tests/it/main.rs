//! The integration tests: one binary, one module per boundary.

#![cfg(test)]

mod http;
mod overload;
mod reload;
mod serve;
mod shutdown;
mod slow;
mod support;
mod tls;
