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
mod access;
mod actions;
mod admission_cases;
mod admission_chance;
mod admission_fleet;
mod admission_flips;
mod admission_kept;
mod admission_matrix;
mod admission_modes;
mod admission_registered;
mod admission_rules;
mod after_a_kill;
mod away;
mod certificates;
mod chart;
mod controllers;
mod conversion;
mod crd_guard;
mod deletion;
mod disable;
mod documents;
mod enable;
mod enable_kubectl;
mod enable_trouble;
mod failures;
mod gitops;
mod hand_over;
mod harness;
mod in_the_way;
mod incomplete;
mod last_errors;
mod lifecycle;
mod load;
mod losses;
mod max_in_flight;
mod measure;
mod migrate;
mod migrate_trouble;
mod migration;
mod model;
mod mutation_policies;
mod mutation_policies_by_hand;
mod mutations;
mod nasty_mutations;
mod outage;
mod ownership;
mod plan;
mod policy_case;
mod promotions;
#[expect(dead_code, reason = "reviews are made by the API server here")]
#[path = "../../benches/data/reviews.rs"]
mod reviews;
mod rollout_bounds;
mod rollout_controllers;
mod rollout_freezes;
mod rollout_holds;
mod rollout_kinds;
mod rollout_late;
mod rollout_marks;
mod rollout_outside;
mod rollout_returns;
mod rollout_rights;
mod rollout_scale;
mod rollout_stored;
mod rollout_supported;
mod rollout_versions;
mod rollout_waves;
mod rollout_workflows;
mod rollouts;
mod rotate;
mod rotate_trouble;
mod scenario;
mod schema;
mod speed;
mod status;
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
    rollout_workflows::SCENARIOS,
    rollout_late::SCENARIOS,
    rollout_returns::SCENARIOS,
    rollout_rights::SCENARIOS,
    rotate::SCENARIOS,
    rotate_trouble::SCENARIOS,
    after_a_kill::SCENARIOS,
    rollout_kinds::SCENARIOS,
    away::SCENARIOS,
    certificates::SCENARIOS,
    chart::SCENARIOS,
    migration::SCENARIOS,
    migrate::SCENARIOS,
    ownership::SCENARIOS,
    absences::SCENARIOS,
    migrate_trouble::SCENARIOS,
    access::SCENARIOS,
    in_the_way::SCENARIOS,
    enable::SCENARIOS,
    enable_kubectl::SCENARIOS,
    enable_trouble::SCENARIOS,
    disable::SCENARIOS,
    crd_guard::SCENARIOS,
    status::SCENARIOS,
    mutation_policies::SCENARIOS,
    mutation_policies_by_hand::SCENARIOS,
    mutations::SCENARIOS,
    hand_over::SCENARIOS,
    rollout_bounds::SCENARIOS,
    rollout_controllers::SCENARIOS,
    rollout_freezes::SCENARIOS,
    rollout_holds::SCENARIOS,
    rollout_marks::SCENARIOS,
    rollout_outside::SCENARIOS,
    rollout_scale::SCENARIOS,
    rollout_stored::SCENARIOS,
    rollout_supported::SCENARIOS,
    rollout_versions::SCENARIOS,
    rollout_waves::SCENARIOS,
    last_errors::SCENARIOS,
    rollouts::SCENARIOS,
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
    plan::SCENARIOS,
    max_in_flight::SCENARIOS,
    documents::SCENARIOS,
    tutorial::SCENARIOS,
    admission_matrix::SCENARIOS,
    admission_fleet::SCENARIOS,
    admission_flips::SCENARIOS,
    admission_kept::SCENARIOS,
    admission_modes::SCENARIOS,
    admission_registered::SCENARIOS,
    admission_rules::SCENARIOS,
    admission_chance::SCENARIOS,
];
