//! A step under way: the newer schema as it is so far, and the places that operations have taken and made.

use serde_json::Value as Schema;

use super::paths::{all, at, is_required, overlap};
use super::schemas::fresh;
use crate::laws::random::Random;
use crate::laws::schema::map_values;

/// What kind of operations a draft has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Manner {
    /// As somebody might write them who knows what they do.
    Sensible,
    /// The same, most of them under a condition.
    Conditional,
    /// Some do not fit: occupied targets, two on one field, differences that nothing explains.
    Hostile,
}

/// What happens between two versions.
pub(super) struct DraftStep {
    pub(super) newer: Schema,
    pub(super) operations: Vec<Schema>,
    pub(super) accept: Vec<Schema>,
    /// Places of the older version that an operation has taken.
    pub(super) taken: Vec<Vec<String>>,
    /// Places of the newer version that an operation has made.
    pub(super) made: Vec<Vec<String>>,
    /// Paths start at `spec` or `status`, not at an item.
    pub(super) root: bool,
    pub(super) manner: Manner,
}

impl DraftStep {
    pub(super) fn new(older: &Schema, root: bool, manner: Manner) -> Self {
        let newer = older.clone();
        let (operations, accept) = (Vec::new(), Vec::new());
        Self { newer, operations, accept, taken: Vec::new(), made: Vec::new(), root, manner }
    }

    /// Whether a place is one that operations may name: not the head of an object, not spec or status as a whole.
    pub(super) fn may_move(&self, place: &[String]) -> bool {
        !self.root || place.len() > 1 && place.first().is_some_and(|top| top == "spec" || top == "status")
    }

    /// A field of both versions that fits and that no operation has touched.
    pub(super) fn field(
        &self,
        random: &mut Random,
        older: &Schema,
        fits: &dyn Fn(&Schema) -> bool,
    ) -> Option<Vec<String>> {
        let careless = self.manner == Manner::Hostile && random.percent(15);
        let mut places = all(older);
        places.retain(|place| {
            let free = !self.taken.iter().chain(&self.made).any(|other| overlap(place, other));
            let head = !self.root
                && matches!(place.first().map(String::as_str), Some("kind" | "metadata" | "apiVersion"))
                && self.manner != Manner::Hostile;
            self.may_move(place)
                && !head
                && (free || careless)
                && at(older, place).is_some_and(fits)
                && at(&self.newer, place).is_some()
        });
        random.pick(&places).cloned()
    }

    /// The same, of fields that may be missing: what an operation cannot always say must not be required.
    pub(super) fn optional(
        &self,
        random: &mut Random,
        older: &Schema,
        fits: &dyn Fn(&Schema) -> bool,
    ) -> Option<Vec<String>> {
        let field = self.field(random, older, fits)?;
        (self.manner == Manner::Hostile || !is_required(older, &field)).then_some(field)
    }

    /// A place of the newer version that neither version has.
    pub(super) fn target(&self, random: &mut Random, older: &Schema, under: &[String]) -> Vec<String> {
        let careless = self.manner == Manner::Hostile && random.percent(25);
        let taken = |name: &str| {
            let place = [under, &[name.to_owned()]].concat();
            !careless && (at(older, &place).is_some() || at(&self.newer, &place).is_some())
                || under.is_empty() && matches!(name, "kind" | "metadata" | "apiVersion")
        };
        let name = fresh(random, &taken);
        [under, &[name]].concat()
    }

    /// An object of the newer version that something can be put into.
    pub(super) fn holder(&self, random: &mut Random) -> Vec<String> {
        let mut places = all(&self.newer);
        places.retain(|place| {
            let object = at(&self.newer, place)
                .filter(|holder| holder.get("properties").is_some() && map_values(holder).is_none());
            let free = !self.made.iter().any(|other| place.starts_with(other));
            // What is put into an object makes it, and then the object has to have what it requires.
            let demands = object.is_some_and(|holder| holder.get("required").is_some());
            let free = free && (self.manner == Manner::Hostile || !demands || place.len() == 1);
            let top = matches!(place.first().map(String::as_str), Some("spec" | "status"));
            object.is_some() && free && (!self.root || top)
        });
        let outermost = if self.root { vec!["spec".to_owned()] } else { Vec::new() };
        places.push(outermost);
        random.pick(&places).cloned().unwrap_or_default()
    }

    pub(super) fn done(&mut self, operation: Schema, older: &[Vec<String>], newer: &[Vec<String>]) -> Option<()> {
        self.operations.push(operation);
        self.taken.extend_from_slice(older);
        self.made.extend_from_slice(newer);
        Some(())
    }
}
