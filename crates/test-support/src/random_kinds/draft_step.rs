//! A step under construction: the newer schema so far, and the places that operations have read and written.

use serde_json::Value as Schema;

use super::paths::{all, at, is_required, overlap};
use super::schemas::fresh;
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::map_values;

/// The kind of operations in a draft.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Manner {
    /// Plausible operations.
    Sensible,
    /// Plausible operations, most with a condition.
    Conditional,
    /// Some invalid operations: occupied targets, two on one field, unexplained differences.
    Hostile,
}

/// The changes between two versions.
pub(super) struct DraftStep {
    pub(super) newer: Schema,
    pub(super) operations: Vec<Schema>,
    pub(super) accept: Vec<Schema>,
    /// Places of the older version that an operation has read.
    pub(super) taken: Vec<Vec<String>>,
    /// Places of the newer version that an operation has written.
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

    /// Returns whether operations may name a place: not the head of an object, and not spec or status as a whole.
    pub(super) fn may_move(&self, place: &[String]) -> bool {
        !self.root || place.len() > 1 && place.first().is_some_and(|top| top == "spec" || top == "status")
    }

    /// A matching field of both versions that no operation has changed.
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

    /// Like `field`, for optional fields: a value that an operation may not produce must not be required.
    pub(super) fn optional(
        &self,
        random: &mut Random,
        older: &Schema,
        fits: &dyn Fn(&Schema) -> bool,
    ) -> Option<Vec<String>> {
        let field = self.field(random, older, fits)?;
        (self.manner == Manner::Hostile || !is_required(older, &field)).then_some(field)
    }

    /// A place of the newer version that neither version uses.
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

    /// An object of the newer version that can receive a value.
    pub(super) fn holder(&self, random: &mut Random) -> Vec<String> {
        let mut places = all(&self.newer);
        places.retain(|place| {
            let object = at(&self.newer, place)
                .filter(|holder| holder.get("properties").is_some() && map_values(holder).is_none());
            let free = !self.made.iter().any(|other| place.starts_with(other));
            // A value creates the object, which must then have its required fields.
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
