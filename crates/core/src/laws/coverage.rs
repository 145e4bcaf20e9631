//! The coverage of a run, so that a law does not hold only for lack of relevant cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::conversion_path::Trip;
use super::hidden_values::{HiddenValue, HiddenValues};
use super::operation_names::{known_names, tail};
use super::value::Value;
use crate::definition::{Kind, StepSummary};
use crate::webhook::Change;

/// An event of an operation.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    /// The operation converted a value to the newer version.
    Up,
    /// The operation converted a value to the older version.
    Down,
    /// A kept value was restored.
    GivenBack,
    /// A value was kept.
    Kept,
    /// A value was kept with a guard on the converted value.
    Guarded,
    /// An edit invalidated such a guard.
    Broken,
}

/// An operation, or a path through it, that no case covered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UncoveredOperation {
    /// The older and the newer version of the step.
    pub versions: (String, String),
    /// The operation, as in the kind's summary.
    pub operation: String,
    /// The line in the definition.
    pub line: u64,
    /// The missing event.
    pub what: &'static str,
}

impl fmt::Display for UncoveredOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (older, newer) = &self.versions;
        write!(f, "{older} to {newer}: {}: {}", self.operation, self.what)
    }
}

/// The operations that ran, each with its step and events.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    seen: BTreeSet<(String, String, Event)>,
    /// Objects were edited.
    edited: bool,
    hidden: HiddenValues,
    /// The number of forged entries, by operation.
    forged: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Records the changes of a conversion between neighbours.
    pub(super) fn note(&mut self, trip: &Trip<'_>, object: &Value, changes: &[Change]) {
        if !trip.step {
            return;
        }
        self.hidden.note(trip, object, changes);
        let way = if trip.down { Event::Down } else { Event::Up };
        for change in changes {
            let guarded = change.kept && !change.after.is_empty();
            let events = [
                Some(way),
                change.kept.then_some(Event::Kept),
                guarded.then_some(Event::Guarded),
                change.given_back.then_some(Event::GivenBack),
            ];
            for known in names(change) {
                for event in events.into_iter().flatten() {
                    self.seen.insert((older(trip).to_owned(), known.clone(), event));
                }
            }
        }
    }

    /// Records which kept values were not restored after an edit.
    pub(super) fn note_edit(&mut self, trip: &Trip<'_>, there: &[Change], changes_back: &[Change]) {
        if !trip.step {
            return;
        }
        self.edited = true;
        let mut open: BTreeMap<String, i64> = BTreeMap::new();
        for change in there.iter().filter(|change| change.kept && !change.after.is_empty()) {
            names(change).for_each(|known| *open.entry(known).or_default() += 1);
        }
        for change in changes_back.iter().filter(|change| change.given_back) {
            names(change).for_each(|known| *open.entry(known).or_default() -= 1);
        }
        let broken = open.into_iter().filter(|(_, open)| *open > 0);
        self.seen.extend(broken.map(|(known, _)| (older(trip).to_owned(), known, Event::Broken)));
    }

    /// Records the operations of the entries in a forged annotation.
    pub(super) fn note_forgery(&mut self, operations: Vec<&'static str>) {
        operations.into_iter().for_each(|operation| *self.forged.entry(operation).or_default() += 1);
    }

    /// The number of forged entries, by operation.
    pub(super) fn forged(&self) -> &BTreeMap<&'static str, u64> {
        &self.forged
    }

    /// The values that versions did not show.
    pub(super) fn hidden(&self, kind: &Kind) -> Vec<HiddenValue> {
        self.hidden.clone().into_list(kind)
    }

    /// The parts that no case covered: operations, directions, kept values and guards.
    pub(super) fn missing(&self, kind: &Kind) -> Vec<UncoveredOperation> {
        let mut missing = Vec::new();
        for step in kind.steps() {
            for (operation, line) in step.operations.iter().zip(&step.lines) {
                let what = self.lacks(&step, operation);
                missing.extend(what.map(|what| UncoveredOperation {
                    versions: (step.from.clone(), step.to.clone()),
                    operation: operation.clone(),
                    line: *line,
                    what,
                }));
            }
        }
        missing
    }

    fn lacks(&self, step: &StepSummary, operation: &str) -> Option<&'static str> {
        let (name, _) = operation.split_once(' ')?;
        if name == "rollout" || name == "each" {
            return None;
        }
        let known = known_names(operation);
        let has = |event| {
            let place = |known: &String| self.seen.contains(&(step.from.clone(), known.clone(), event));
            known.iter().any(place)
        };
        match (has(Event::Up), has(Event::Down)) {
            (false, false) => Some("no case used the operation"),
            (false, true) if name != "add" => Some("no case used a newer version"),
            (true, false) if name != "drop" => Some("no case used an older version"),
            _ if has(Event::Kept) && !has(Event::GivenBack) => Some("no kept value was restored"),
            _ if self.edited && has(Event::Guarded) && !has(Event::Broken) => {
                Some("no edit broke the guard of a kept value")
            }
            _ => None,
        }
    }
}

/// The older version of a step.
fn older<'t>(trip: &Trip<'t>) -> &'t str {
    if trip.down { trip.to.version } else { trip.from.version }
}

/// The names of an operation, one for each of its places.
fn names(change: &Change) -> impl Iterator<Item = String> {
    let paths = change.before.iter().chain(&change.after);
    paths.map(|(path, _)| format!("{} {}", change.operation, tail(path)))
}
