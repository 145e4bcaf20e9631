//! Tests of the core's guarantees through its public API.

// With this attribute, clippy's allowances for tests also apply to helpers.
#![cfg(test)]

mod admission;
mod advice;
mod callers;
mod captures;
mod contract;
mod cost;
mod edges;
mod fixtures;
#[path = "../../../../benches/data/growing.rs"]
mod growing;
mod kept;
mod kept_values;
mod kinds;
mod laws;
mod mattermost;
mod mutations;
mod registered;
mod registered_changes;
mod registration;
mod regressions;
mod replaces;
mod replaces_small;
mod schemas;
mod value;
