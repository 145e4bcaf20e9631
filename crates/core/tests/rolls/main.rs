//! Rolls, simulated: a model fleet with controllers, edits by others, lost answers, caches, kills at every point,
//! clocks that jump, and two runners.
//!
//! `POINTSMAN_ROLLS` sets how many histories are tried, `POINTSMAN_SEED` where they start. What breaks prints its seed,
//! and the smallest history that breaks the same way.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod controllers;
mod documents;
mod freezes;
mod health;
mod history;
mod journeys;
mod kinds;
mod lists;
mod next;
mod outside;
mod patches;
mod runner;
mod running_versions;
mod script;
mod starts;
mod stops;
mod versions;
mod windows;
mod world;

use history::{Broken, History};
use kinds::CHECKED_KINDS;
use script::Setup;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn broken(setup: &Setup) -> Option<Broken> {
    History::new(setup, &CHECKED_KINDS[usize::from(setup.settles)]).run()
}

#[test]
fn histories_of_rolls_keep_every_property() {
    let (first, count) = (number("POINTSMAN_SEED", 0), number("POINTSMAN_ROLLS", 1_500));
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    for seed in first..first + count {
        let setup = Setup::draw(seed);
        let mut history = History::new(&setup, &CHECKED_KINDS[usize::from(setup.settles)]);
        if let Some(Broken { property, .. }) = history.run() {
            let small = setup.shrunk(|setup| broken(setup).is_some_and(|other| other.property == property));
            let Broken { property, what, log } = broken(&small).unwrap();
            panic!("seed {seed}: {property}: {what}\n{small:#?}\n{}", log[log.len().saturating_sub(80)..].join("\n"));
        }
        for end in history.ends() {
            *ends.entry(end).or_default() += 1;
        }
    }
    println!("{count} histories: {ends:?}");
    // Every way to end is taken: a simulation in which nothing happens would hold everything.
    for end in ["Complete", "Aborted", "Failed", "Waiting", "was Paused"] {
        assert!(count < 1_000 || ends.contains_key(end), "{end}: {ends:?}");
    }
}
