//! The integration tests: one binary, one module per boundary.

#![cfg(test)]

mod captures;
mod contract;
mod kinds;
mod laws;
mod value;
