//! What the cases of a run exercised, so that a law cannot hold because it saw nothing.

use std::collections::BTreeSet;

use super::trip::Trip;
use crate::definition::Kind;
use crate::webhook::Change;

/// What happened to an operation.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    /// It moved something, towards the newer version.
    Up,
    /// It moved something, towards the older version.
    Down,
    /// What it kept came back.
    GivenBack,
    /// It kept something.
    Kept,
}

/// Operations that ran, each with its step, and what happened to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    seen: BTreeSet<(String, String, Event)>,
}

impl Coverage {
    /// Notes what a conversion between neighbours did.
    pub(super) fn note(&mut self, trip: &Trip<'_>, changes: &[Change]) {
        if !trip.step {
            return;
        }
        let older = if trip.down { trip.to.version } else { trip.from.version };
        for change in changes {
            let way = if trip.down { Event::Down } else { Event::Up };
            let also = [Some(way), change.kept.then_some(Event::Kept), change.given_back.then_some(Event::GivenBack)];
            for (path, _) in change.before.iter().chain(&change.after) {
                let known = format!("{} {}", change.operation, tail(path));
                for event in also.into_iter().flatten() {
                    self.seen.insert((older.to_owned(), known.clone(), event));
                }
            }
        }
    }

    /// What no case exercised: an operation, a direction, a kept value and its guard.
    pub(super) fn missing(&self, kind: &Kind) -> Vec<String> {
        let mut missing = Vec::new();
        for step in kind.steps() {
            for line in &step.operations {
                let Some((name, places)) = line.split_once(' ') else { continue };
                if name == "rollout" || name == "each" {
                    continue;
                }
                let places = places.split(" <-> ").flat_map(|side| side.split(" + "));
                let known: Vec<String> = places.map(|place| format!("{name} {}", tail(place))).collect();
                let has = |event| {
                    let place = |known: &String| self.seen.contains(&(step.from.clone(), known.clone(), event));
                    known.iter().any(place)
                };
                let mut say = |what: &str| {
                    missing.push(format!("{} to {}: {line}: {what}", step.from, step.to));
                };
                match (has(Event::Up), has(Event::Down)) {
                    (false, false) => say("no case ran it"),
                    (false, true) if name != "add" => say("no case went up"),
                    (true, false) if name != "drop" => say("no case went down"),
                    _ if has(Event::Kept) && !has(Event::GivenBack) => {
                        say("nothing that it kept came back");
                    }
                    _ => {}
                }
            }
        }
        missing
    }
}

/// What stands inside the innermost item: an operation says it without the items around it.
fn tail(path: &str) -> &str {
    path.rsplit_once("].").map_or(path, |(_, inside)| inside).trim_start_matches('.')
}
