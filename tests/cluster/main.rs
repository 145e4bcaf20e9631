//! pointsman behind a real kube-apiserver. See README.md beside this file.
//!
//! Without the programs that takes, this says so in one line and passes, except where CI is set.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests, in a target without the test harness, so clippy.toml does not see it"
)]

use std::process::ExitCode;

mod conversion;
mod failures;
mod gitops;
mod harness;
mod schema;
mod support;

fn main() -> ExitCode {
    let scenarios = [
        conversion::SCENARIOS,
        schema::SCENARIOS,
        failures::SCENARIOS,
        gitops::SCENARIOS,
    ]
    .concat();
    if harness::main(&scenarios) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
