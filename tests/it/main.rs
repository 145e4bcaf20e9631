//! The integration tests: one binary, one module per boundary.

#![cfg(test)]

mod http;
mod overload;
mod serve;
mod shutdown;
mod support;
mod tls;
