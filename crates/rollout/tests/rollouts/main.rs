//! Simulation of StagedRollouts: a model fleet with controllers, edits by other clients, lost responses, caches, kills
//! at every point, clock jumps, and two runners.
//!
//! `POINTSMAN_ROLLOUTS` sets the number of histories, `POINTSMAN_SEED` the first seed. A failure prints its seed and
//! the smallest history that fails in the same way.

// With this attribute, clippy's allowances for tests also apply to helpers.
#![cfg(test)]

mod answers;
mod asked_versions;
mod bounds;
mod conditions;
mod controllers;
mod database;
mod digests;
mod documents;
mod failures;
mod freezes;
mod gates;
mod going;
mod hand_over;
mod health;
mod history;
mod holds;
mod kinds;
mod lists;
mod next;
mod outside;
mod pace;
mod parts;
mod patches;
mod replacement;
mod requests;
mod rewriting;
mod runner;
mod running_versions;
mod scale;
mod script;
mod starts;
mod stops;
mod texts;
mod two_rollouts;
mod versions;
mod windows;
mod workflows;
mod world;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, available_parallelism};

use history::{Broken, History};
use kinds::CHECKED_KINDS;
use pointsman_core::definition::Kind;
use script::Setup;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn kind(setup: &Setup) -> &'static Kind {
    &CHECKED_KINDS[usize::from(setup.one_manager)][usize::from(setup.settles)]
}

fn broken(setup: &Setup) -> Option<Broken> {
    History::new(setup, kind(setup)).run()
}

/// Number of histories by end state.
type Ends = BTreeMap<String, u64>;

/// Runs histories in batches of seeds until none is left or one fails. Lowers `lowest` to the lowest failing seed,
/// shared with the other threads.
fn run(seeds: Range<u64>, next: &AtomicU64, lowest: &AtomicU64) -> Ends {
    let mut ends = Ends::new();
    loop {
        let part = next.fetch_add(PART, Ordering::Relaxed);
        if part >= seeds.end.min(lowest.load(Ordering::Relaxed)) {
            return ends;
        }
        for seed in part..seeds.end.min(part + PART) {
            let setup = Setup::draw(seed);
            let mut history = History::new(&setup, kind(&setup));
            if history.run().is_some() {
                lowest.fetch_min(seed, Ordering::Relaxed);
                return ends;
            }
            for end in history.ends() {
                *ends.entry(end).or_default() += 1;
            }
        }
    }
}

/// Panics with the violated property and the smallest failing history.
fn tell(seed: u64) -> ! {
    let setup = Setup::draw(seed);
    let property = broken(&setup).unwrap().property;
    let small = setup.shrunk(|setup| broken(setup).is_some_and(|other| other.property == property));
    let Broken { property, what, log } = History::logged(&small, kind(&small)).run().unwrap();
    panic!("seed {seed}: {property}: {what}\n{small:#?}\n{}", log[log.len().saturating_sub(80)..].join("\n"));
}

#[test]
fn histories_of_rollouts_keep_every_property() {
    let (first, count) = (number("POINTSMAN_SEED", 0), number("POINTSMAN_ROLLOUTS", 1_500));
    let (seeds, next, lowest) = (first..first + count, AtomicU64::new(first), AtomicU64::new(u64::MAX));
    // Few histories leave the other processors to other tests.
    let threads = if count < MANY { 1 } else { available_parallelism().map_or(1, NonZero::get) };
    let ends: Vec<Ends> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| run(seeds.clone(), &next, &lowest))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let lowest = lowest.into_inner();
    if lowest < u64::MAX {
        tell(lowest);
    }
    let mut all = Ends::new();
    ends.into_iter().flatten().for_each(|(end, times)| *all.entry(end).or_default() += times);
    println!("{count} histories: {all:?}");
    // Every end state occurs: an idle simulation would satisfy every property.
    for end in ["Complete", "Aborted", "Failed", "Waiting", "was Paused"] {
        assert!(count < 1_000 || all.contains_key(end), "{end}: {all:?}");
    }
}

/// Number of histories per batch of a thread.
const PART: u64 = 100;
const MANY: u64 = 10_000;
