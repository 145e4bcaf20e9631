//! A snapshot of the facts of mutations, made by the watcher.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::definition::{MutationFact, WatchedFact};

/// Objects by namespace and name. The namespace is empty for cluster-scoped objects.
type ObjectNames = BTreeSet<(String, String)>;

/// The known facts. A fact that was never observed is unknown, and its mutations cannot be decided.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    set_facts: BTreeMap<String, bool>,
    seen: Vec<(WatchedFact, Arc<ObjectNames>)>,
}

impl KnownFacts {
    /// Sets the fact of the mutation of this name for all objects.
    pub fn set(&mut self, mutation: &str, is_true: FactValue) {
        self.set_facts.insert(mutation.to_owned(), is_true == FactValue::True);
    }

    /// Sets the objects, by namespace and name, for which a fact is true. It is false for all others.
    pub fn see(&mut self, fact: &WatchedFact, objects: Arc<BTreeSet<(String, String)>>) {
        match self.seen.iter_mut().find(|(other, _)| other == fact) {
            Some((_, known)) => *known = objects,
            None => self.seen.push((fact.clone(), objects)),
        }
    }

    /// Removes all observed facts except these.
    pub fn keep(&mut self, wanted: &[WatchedFact]) {
        self.seen.retain(|(fact, _)| wanted.contains(fact));
    }

    /// The number of objects for which one of these facts is true. `None` while one of them was never observed.
    #[must_use]
    pub fn objects(&self, facts: &[WatchedFact]) -> Option<usize> {
        let of = |fact| self.seen.iter().find(|(other, _)| other == fact).map(|(_, objects)| objects.len());
        facts.iter().map(of).sum()
    }

    /// Returns whether all of these facts were observed.
    #[must_use]
    pub fn knows(&self, facts: &[WatchedFact]) -> bool {
        facts.iter().all(|fact| self.seen.iter().any(|(other, _)| other == fact))
    }

    /// The fact of a mutation for an object, if known.
    pub(crate) fn of(&self, mutation: &str, fact: &MutationFact, namespace: &str, name: &str) -> Option<bool> {
        if let Some(set_facts) = self.set_facts.get(mutation) {
            return Some(*set_facts);
        }
        let (_, objects) = self.seen.iter().find(|(other, _)| *other == fact.watched)?;
        Some(objects.contains(&fact.object_for(namespace, name)))
    }
}

/// The value of a fact.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FactValue {
    /// The fact is true.
    True,
    /// The fact is false.
    False,
}

/// A mutation that cannot be decided, because its fact is unknown.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("whether {fact} is still unknown, and mutation {mutation} needs this fact")]
#[non_exhaustive]
pub struct FactUnknown {
    /// The mutation.
    pub mutation: String,
    /// The unknown fact.
    pub fact: String,
}

impl FactUnknown {
    pub(super) fn new(mutation: &str, fact: &impl fmt::Display) -> Self {
        Self { mutation: mutation.to_owned(), fact: fact.to_string() }
    }
}
