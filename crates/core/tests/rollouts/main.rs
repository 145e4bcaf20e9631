//! StagedRollouts, simulated: a model fleet with controllers, edits by others, lost answers, caches, kills at every
//! point, clocks that jump, and two runners.
//!
//! `POINTSMAN_ROLLOUTS` sets how many histories are tried, `POINTSMAN_SEED` where they start. What breaks prints its
//! seed, and the smallest history that breaks the same way.

// Here clippy's allowances for tests hold in helpers, too.
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

/// How often histories came to each of their ends.
type Ends = BTreeMap<String, u64>;

/// Runs histories, a part of the seeds at a time, until there are none left or one breaks. Returns the lowest seed that
/// does, whoever else runs others meanwhile.
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

/// Says what breaks, and shows the smallest history that does.
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
    // Few of them leave the other processors to other tests.
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
    // Every way to end is taken: a simulation in which nothing happens would hold everything.
    for end in ["Complete", "Aborted", "Failed", "Waiting", "was Paused"] {
        assert!(count < 1_000 || all.contains_key(end), "{end}: {all:?}");
    }
}

/// Histories that a thread takes at a time.
const PART: u64 = 100;
const MANY: u64 = 10_000;
