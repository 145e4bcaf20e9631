//! What is known of the facts that stages wait for: a snapshot, made by whoever watches them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::definition::{MutationFact, WatchedFact};

/// Objects by namespace and name; the namespace is empty where there is none.
type ObjectNames = BTreeSet<(String, String)>;

/// What is known of facts. Of one that was never seen nothing is known, and what hangs on it is not decided.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    said: BTreeMap<String, bool>,
    seen: Vec<(WatchedFact, Arc<ObjectNames>)>,
}

impl KnownFacts {
    /// Says of all objects whether the fact of the stage of this name is true.
    pub fn say(&mut self, mutation: &str, is_true: FactValue) {
        self.said.insert(mutation.to_owned(), is_true == FactValue::True);
    }

    /// Says of which objects, by namespace and name, a fact is true; of all others it is not.
    pub fn see(&mut self, fact: &WatchedFact, objects: Arc<BTreeSet<(String, String)>>) {
        match self.seen.iter_mut().find(|(other, _)| other == fact) {
            Some((_, known)) => *known = objects,
            None => self.seen.push((fact.clone(), objects)),
        }
    }

    /// Forgets what was seen of all facts but these.
    pub fn keep(&mut self, wanted: &[WatchedFact]) {
        self.seen.retain(|(fact, _)| wanted.contains(fact));
    }

    /// Of how many objects one of the facts of a resource is true; nothing while one of them was never seen.
    #[must_use]
    pub fn objects(&self, facts: &[WatchedFact]) -> Option<usize> {
        let of = |fact| self.seen.iter().find(|(other, _)| other == fact).map(|(_, objects)| objects.len());
        facts.iter().map(of).sum()
    }

    /// Whether something is known of each of these.
    #[must_use]
    pub fn knows(&self, facts: &[WatchedFact]) -> bool {
        facts.iter().all(|fact| self.seen.iter().any(|(other, _)| other == fact))
    }

    /// Whether the fact of a stage is true for an object, if that is known.
    pub(crate) fn of(&self, mutation: &str, fact: &MutationFact, namespace: &str, name: &str) -> Option<bool> {
        if let Some(said) = self.said.get(mutation) {
            return Some(*said);
        }
        let (_, objects) = self.seen.iter().find(|(other, _)| *other == fact.watched)?;
        Some(objects.contains(&fact.object_for(namespace, name)))
    }
}

/// Whether something is so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FactValue {
    /// It is.
    True,
    /// It is not.
    False,
}

/// A stage that cannot be decided, since nothing is known of its fact yet.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("whether {fact} is not known yet, and mutation {mutation} hangs on it")]
#[non_exhaustive]
pub struct FactUnknown {
    /// The stage.
    pub mutation: String,
    /// What nobody has seen.
    pub fact: String,
}

impl FactUnknown {
    pub(super) fn new(mutation: &str, fact: &impl fmt::Display) -> Self {
        Self { mutation: mutation.to_owned(), fact: fact.to_string() }
    }
}
