//! pointsman behind a real kube-apiserver. See README.md in this directory.
//!
//! Without the required programs, the test prints one line and passes, except if CI is set.

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

mod absences;
mod actions;
mod admission;
mod certificates;
mod chart;
mod commands;
mod controllers;
mod conversion;
mod crd_guard;
mod deletion;
mod documents;
mod failures;
mod gitops;
mod hand_over;
mod harness;
mod incomplete;
mod lifecycle;
mod load;
mod losses;
mod measure;
mod migration;
mod model;
mod mutations;
mod outage;
mod policy_case;
mod promotions;
#[expect(dead_code, reason = "reviews are made by the API server here")]
#[path = "../../benches/data/reviews.rs"]
mod reviews;
mod rollouts;
mod scenario;
mod schema;
mod speed;
mod stories;
mod support;
mod tutorial;
mod typed_blocks;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, null, port, certs] = args.as_slice()
        && null == speed::NULL
    {
        support::null_webhooks::serve(port.parse().unwrap(), certs.as_ref());
        return ExitCode::SUCCESS;
    }
    let held = match (std::env::var_os("POINTSMAN_MEASURE"), std::env::var("POINTSMAN_SPEED")) {
        (Some(_), _) => measure::main(),
        (None, Ok(objects)) => speed::main(objects.parse().expect("a number of objects")),
        (None, Err(_)) => harness::main(&SCENARIOS.concat()),
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The longest first.
const SCENARIOS: &[&[scenario::Scenario]] = &[
    rollouts::workflows::SCENARIOS,
    rollouts::late::SCENARIOS,
    rollouts::returns::SCENARIOS,
    rollouts::rights::SCENARIOS,
    commands::rotate::SCENARIOS,
    commands::rotate_trouble::SCENARIOS,
    commands::after_a_kill::SCENARIOS,
    rollouts::kinds::SCENARIOS,
    commands::away::SCENARIOS,
    certificates::SCENARIOS,
    chart::SCENARIOS,
    migration::SCENARIOS,
    commands::migrate::SCENARIOS,
    commands::ownership::SCENARIOS,
    absences::SCENARIOS,
    commands::migrate_trouble::SCENARIOS,
    commands::access::SCENARIOS,
    commands::in_the_way::SCENARIOS,
    commands::enable::SCENARIOS,
    commands::enable_kubectl::SCENARIOS,
    commands::enable_trouble::SCENARIOS,
    commands::disable::SCENARIOS,
    crd_guard::SCENARIOS,
    commands::status::SCENARIOS,
    mutations::policies::SCENARIOS,
    mutations::policies_by_hand::SCENARIOS,
    mutations::facts::SCENARIOS,
    hand_over::SCENARIOS,
    rollouts::bounds::SCENARIOS,
    rollouts::controllers::SCENARIOS,
    rollouts::freezes::SCENARIOS,
    rollouts::holds::SCENARIOS,
    rollouts::marks::SCENARIOS,
    rollouts::outside::SCENARIOS,
    rollouts::scale::SCENARIOS,
    rollouts::stored::SCENARIOS,
    rollouts::supported::SCENARIOS,
    rollouts::versions::SCENARIOS,
    rollouts::waves::SCENARIOS,
    commands::last_errors::SCENARIOS,
    rollouts::fleets::SCENARIOS,
    model::SCENARIOS,
    deletion::SCENARIOS,
    lifecycle::SCENARIOS,
    conversion::SCENARIOS,
    schema::SCENARIOS,
    incomplete::SCENARIOS,
    losses::SCENARIOS,
    failures::SCENARIOS,
    gitops::SCENARIOS,
    stories::SCENARIOS,
    promotions::SCENARIOS,
    outage::SCENARIOS,
    commands::plan::SCENARIOS,
    commands::max_in_flight::SCENARIOS,
    documents::SCENARIOS,
    tutorial::SCENARIOS,
    admission::matrix::SCENARIOS,
    admission::fleet::SCENARIOS,
    admission::flips::SCENARIOS,
    admission::kept::SCENARIOS,
    admission::modes::SCENARIOS,
    admission::registered::SCENARIOS,
    admission::rules::SCENARIOS,
    admission::chance::SCENARIOS,
];
