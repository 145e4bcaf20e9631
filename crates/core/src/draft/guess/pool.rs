//! The fields of one version that have no counterpart yet.

use std::collections::{BTreeMap, BTreeSet};

use super::shape::{Shape, has_fields};
use super::words::words;
use crate::definition::{Path, Schema};

/// How a field of one version is paired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pairing {
    /// An operation, or a copy, covers the field with its contents.
    Whole,
    /// The object has a counterpart, and its fields convert one by one.
    Fields,
}

/// The pairings of the fields of one version.
pub(super) type Pairings = BTreeMap<Path, Pairing>;

/// A field without a counterpart.
#[derive(Debug)]
pub(super) struct Candidate<'s> {
    pub(super) path: Path,
    pub(super) schema: &'s Schema,
    pub(super) shape: Shape,
    /// Whether a field inside already has a counterpart.
    pub(super) is_divided: bool,
}

impl Candidate<'_> {
    /// The name of the field.
    pub(super) fn name(&self) -> &str {
        self.path.names().last().map_or("", AsRef::as_ref)
    }
}

/// Lists the fields without a counterpart, outermost first.
pub(super) fn candidates<'s>(schema: &'s Schema, pairings: &Pairings) -> Vec<Candidate<'s>> {
    let mut found = Vec::new();
    collect(&Path::default(), schema, pairings, &mut found);
    found
}

fn collect<'s>(at: &Path, schema: &'s Schema, pairings: &Pairings, found: &mut Vec<Candidate<'s>>) {
    if !has_fields(schema) {
        return;
    }
    for (name, property) in &schema.properties {
        let path = at.join(name);
        match pairings.get(&path) {
            Some(Pairing::Whole) => {}
            Some(Pairing::Fields) => collect(&path, property, pairings, found),
            None => {
                let is_divided = pairings.keys().any(|other| other.strip(&path).is_some());
                let shape = Shape::of(property);
                found.push(Candidate { path: path.clone(), schema: property, shape, is_divided });
                collect(&path, property, pairings, found);
            }
        }
    }
}

/// The weights of words in the comparison of names. A rare word has a large weight.
#[derive(Debug, Default)]
pub(super) struct Weights {
    words: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
}

impl Weights {
    pub(super) fn of<'c>(candidates: impl Iterator<Item = &'c Candidate<'c>>) -> Self {
        let mut weights = Self::default();
        for candidate in candidates {
            let mut name = words(candidate.name());
            *weights.names.entry(name.concat()).or_default() += 1;
            name.sort_unstable();
            name.dedup();
            for word in name {
                *weights.words.entry(word).or_default() += 1;
            }
        }
        weights
    }

    /// The weight of words, without repetitions.
    fn sum<'w>(&self, words: impl Iterator<Item = &'w String>) -> f64 {
        words.map(|word| 1.0 / (1.0 + self.words.get(word).map_or(0.0, |count| *count as f64)).log2().max(1.0)).sum()
    }

    /// How rare a name is, from 0 to 1. Names of one field in each version have 1.
    pub(super) fn rarity(&self, name: &str) -> f64 {
        let count = self.names.get(&words(name).concat()).copied().unwrap_or_default();
        2.0 / count.max(2) as f64
    }

    /// How many words two places have in common, from 0 to 1. Words of only one place count half: a place often gets
    /// an enclosing object, and its name gets shorter.
    pub(super) fn overlap(&self, one: &BTreeSet<String>, two: &BTreeSet<String>) -> f64 {
        let common = self.sum(one.intersection(two));
        let (first, second) = (self.sum(one.iter()), self.sum(two.iter()));
        let (dice, part) = (2.0 * common / (first + second).max(0.01), common / first.min(second).max(0.01));
        f64::midpoint(dice, part)
    }
}
