//! The binary as a person calls it, the documents, and the rules of the house.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod api_reference;
mod browser;
mod chart;
mod cli;
mod dev_page;
mod docs;
mod left_out;
mod memory;
#[path = "../../crates/server/tests/it/support/memory_group.rs"]
mod memory_group;
mod readme;
mod serve;
mod serve_rights;
mod tidy;
