//! The integration tests: one binary, one module per boundary.

#![cfg(test)]

mod captures;
mod contract;
mod fixtures;
mod kinds;
mod laws;
mod value;
