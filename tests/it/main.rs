//! Tests of the binary, of the documents, and of the rules for the repository.

// With this, clippy's settings for tests apply to helpers too.
#![cfg(test)]

mod action;
mod api_reference;
mod bless;
mod browser;
mod chart;
mod cli;
mod commands;
mod dev_page;
mod docs;
mod left_out;
mod memory;
#[path = "../../crates/server/tests/it/support/memory_group.rs"]
mod memory_group;
mod packages;
mod readme;
mod real_kinds;
mod serve;
mod serve_rights;
mod tidy;
mod workbench;
