//! A compiled operation: its places on both sides, and the mapping of their values.
//!
//! A mapping may lose data. The conversion stays lossless because the converted object is converted back and compared.
//! Each value that would not return by itself is kept. So no operation has to declare its losses.
//!
//! With `values: {field: spec.mode, map: {fast: Quick}}`, an older `fast` maps to `Quick` and back to `fast`: no value
//! is kept. An older `Quick`, which the schema may also allow, maps to `Quick` and would return as `fast`: it is kept.

use std::fmt;

use smallvec::SmallVec;

use super::condition::Condition;
use crate::definition::field_change::FieldChange;
use crate::definition::frontier::{Frontier, Part, Root, SharedObjectInfo};
use crate::definition::path::Path;
use crate::definition::place::{Fill, Place};
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// A value for each place of one side. `None` is an absent value.
pub(crate) type Fragment<'a> = SmallVec<[Option<Json<'a>>; 2]>;

/// The mapping of an operation, in both directions.
pub(super) trait Mapping: fmt::Debug + Send + Sync {
    /// Maps the values of one side to the places of the other side. `to` is the side that is written, `places` are its
    /// places. Not called for absent values. Absent maps to absent.
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a>;

    /// The parts of the first place of each side that the operation leaves to the comparison of schemas. `at` is the
    /// name of the place in messages.
    fn unexplained(&self, _at: &str, _older: &Place, _newer: &Place) -> Unexplained {
        Unexplained::default()
    }

    /// Returns why the place `at` of the side `to` may be absent although the first place of the other side is present.
    /// `None` if it never is.
    fn may_lack(&self, _to: Side, _at: usize, _places: &Sides<Vec<Place>>) -> Option<String> {
        None
    }

    /// The places of one side that a description names.
    fn described<'p>(&self, places: &'p [Place]) -> &'p [Place] {
        places
    }

    /// The conversion of the items of a list or map.
    fn items(&self) -> Option<&Items> {
        None
    }

    /// Returns whether the value is the same on both sides.
    fn is_same(&self) -> bool {
        false
    }

    /// Returns whether every object on the other side maps to a value on the side `to`.
    fn shows_objects(&self, _to: Side) -> bool {
        self.is_same() || self.items().is_some()
    }

    /// Returns whether the mapping is injective in both directions.
    fn is_injective(&self, _places: &Sides<Vec<Place>>) -> bool {
        self.is_same()
    }

    /// Returns whether the newer version lacks the older field.
    fn drops(&self) -> bool {
        false
    }

    /// The maximum number of bytes that a value at a place of the side `to` gains.
    fn adds(&self, _to: Side) -> u64 {
        0
    }

    /// The maximum number of bytes that each byte of the values gains in addition.
    fn expands(&self) -> u64 {
        0
    }
}

/// The parts of a place that an operation leaves to the comparison of schemas.
#[derive(Default)]
pub(crate) struct Unexplained {
    /// Why the operation cannot work here.
    pub(crate) problem: Option<String>,
    /// Two schemas that must agree for the rest.
    pub(crate) schemas: Option<Sides<Schema>>,
    /// Whether the operation keeps a null that one version does not allow.
    pub(crate) keeps_null: bool,
    /// Whether the newer schema is that of the items of a list at the newer place.
    pub(crate) is_newer_item: bool,
}

impl Unexplained {
    pub(super) fn schemas(older: Schema, newer: Schema) -> Self {
        Self { schemas: Some(Sides { older, newer }), ..Self::default() }
    }
}

/// An operation, in both directions.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The key in the definition. `required` for an implied operation.
    pub(crate) name: &'static str,
    pub(crate) places: Sides<Vec<Place>>,
    /// The line in the definition. 0 for an implied operation.
    pub(crate) line: u64,
    /// Whether it follows from an operation on the object around the field, which has this line.
    pub(crate) is_inferred: bool,
    /// The conditions for the conversion to the newer version. All must hold.
    pub(crate) conditions: Vec<Condition>,
    mapping: Box<dyn Mapping>,
}

impl Operation {
    pub(super) fn new(name: &'static str, places: Sides<Vec<Place>>, mapping: impl Mapping + 'static) -> Self {
        Self { name, places, line: 0, is_inferred: false, conditions: Vec::new(), mapping: Box::new(mapping) }
    }

    /// An operation with one place on each side.
    pub(super) fn between(name: &'static str, places: Sides<Place>, mapping: impl Mapping + 'static) -> Self {
        Self::new(name, places.map(|place| vec![place]), mapping)
    }

    /// Maps the values of one side to the places of the other side. `to` is the side that is written.
    pub(crate) fn map<'a>(&self, to: Side, from: &[Option<Json<'a>>]) -> Fragment<'a> {
        self.mapping.map(to, self.places.of(to), from)
    }

    /// The line of the operation itself. 0 if it has none.
    pub(in crate::definition) fn own_line(&self) -> u64 {
        if self.is_inferred { 0 } else { self.line }
    }

    /// The conversion of items, if the operation concerns a list or map.
    pub(crate) fn items(&self) -> Option<&Items> {
        self.mapping.items()
    }

    /// Returns whether the value is the same on both sides.
    pub(crate) fn is_same(&self) -> bool {
        self.mapping.is_same()
    }

    /// Returns whether every object on the other side maps to a value on the side `to`.
    pub(crate) fn shows_objects(&self, to: Side) -> bool {
        self.mapping.shows_objects(to) && (to == Side::Older || self.conditions.is_empty())
    }

    /// Returns whether the mapping is injective in both directions.
    pub(super) fn is_injective(&self) -> bool {
        self.mapping.is_injective(&self.places) && self.conditions.is_empty()
    }

    /// Returns whether the newer version lacks the older field.
    pub(crate) fn drops(&self) -> bool {
        self.mapping.drops()
    }

    /// The maximum number of bytes that a value at a place of the side `to` gains.
    pub(in crate::definition) fn adds(&self, to: Side) -> u64 {
        self.mapping.adds(to)
    }

    /// The maximum number of bytes that each byte of the values gains in addition.
    pub(in crate::definition) fn expands(&self) -> u64 {
        self.mapping.expands()
    }

    /// Returns why the place `at` of the side `to` may be absent although the first place of the other side is present.
    pub(in crate::definition) fn may_lack(&self, to: Side, at: usize) -> Option<String> {
        let condition = self.conditions.first().filter(|_| to == Side::Newer);
        let when = || condition.map(|condition| format!("the field exists only if {condition}"));
        self.mapping.may_lack(to, at, &self.places).or_else(when)
    }

    /// The places of both sides.
    pub(crate) fn all_places(&self) -> impl Iterator<Item = &Place> {
        self.places.older.iter().chain(&self.places.newer)
    }

    /// Returns whether a field of a side, its parent or its contents is a place of this operation.
    pub(crate) fn touches(&self, side: Side, path: &Path) -> bool {
        let mut places = self.places.of(side).iter();
        places.any(|place| place.path.starts_with(path) || path.starts_with(&place.path))
    }

    /// The parts that the operation leaves to the comparison of schemas. `name` returns the name of a path in messages.
    pub(crate) fn unexplained(&self, name: impl FnOnce(&Path) -> String) -> Option<(String, Unexplained)> {
        let (older, newer) = (self.places.older.first()?, self.places.newer.first()?);
        let at = name(&older.path);
        let unexplained = self.mapping.unexplained(&at, older, newer);
        Some((at, unexplained))
    }

    fn change(&self, older: Vec<String>, newer: Vec<String>) -> FieldChange {
        let conditions = self.conditions.iter().map(ToString::to_string).collect();
        FieldChange { operation: self.name.to_owned(), older, newer, conditions }
    }

    fn describe(&self, prefixes: &Sides<String>) -> Vec<(u64, String)> {
        let ids = |side| {
            let (places, prefix) = (self.mapping.described(self.places.of(side)).iter(), prefixes.of(side));
            places.map(|place| format!("{prefix}{}", place.id)).collect::<Vec<_>>().join(" + ")
        };
        let (older, newer, name) = (ids(Side::Older), ids(Side::Newer), self.name);
        let described = match (older.is_empty(), newer.is_empty()) {
            (true, false) => format!("{name} {newer}"),
            (false, false) if older != newer => format!("{name} {older} <-> {newer}"),
            _ => format!("{name} {older}"),
        };
        let mut lines = vec![(self.line, described)];
        if let Some(items) = self.items() {
            let inside = |list: &str| format!("{list}[*].");
            lines.extend(items.level.describe(&Sides { older: inside(&older), newer: inside(&newer) }));
        }
        lines
    }
}

/// The operations on one object, and the split points of the two versions.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub(crate) operations: Vec<Operation>,
    pub(crate) frontier: Frontier,
    /// Whether any operation has a condition.
    pub(crate) is_conditional: bool,
    /// The facts that conditions may use.
    pub facts: Vec<Fact>,
}

/// A fact about an object of the older version: whether a Secret that it names has a key.
#[derive(Debug)]
pub(crate) struct Fact {
    pub name: String,
    /// The field with the name of the Secret. If it is not set, the fact is false without a lookup.
    pub secret: Place,
    pub key: String,
}

impl Level {
    pub(in crate::definition) fn new(older: &Schema, newer: &Schema, operations: Vec<Operation>, root: Root) -> Self {
        let places = |side: Side| {
            let places = operations.iter().map(move |operation| operation.places.of(side));
            places.map(|places| places.iter().map(|place| &place.path).collect()).collect()
        };
        let places = Sides { older: places(Side::Older), newer: places(Side::Newer) };
        let mut frontier = Frontier::new(&places, older, newer, root);
        for side in [Side::Older, Side::Newer] {
            let fills = may_fill(&frontier, &operations, side, root);
            let own = frontier.cuts.iter().any(|cut| matches!(cut.parts.of(side), Part::Object(_)));
            *frontier.fills.of_mut(side) = fills;
            *frontier.fills_inside.of_mut(side) = fills && (own || makes_content(&frontier, side));
        }
        let is_conditional = operations.iter().any(|operation| !operation.conditions.is_empty());
        Self { operations, frontier, is_conditional, facts: Vec::new() }
    }

    /// Returns whether the namespace of an object is the value of a field, here or in the items of a list.
    pub(in crate::definition) fn reads_namespace(&self) -> bool {
        let reads = |operation: &Operation| {
            operation.all_places().any(|place| matches!(place.fill, Some(Fill::Namespace)))
                || operation.items().is_some_and(|items| items.level.reads_namespace())
        };
        self.operations.iter().any(reads)
    }

    /// The operation of a slot.
    pub(crate) fn operation_of(&self, side: Side, slot: usize) -> Option<&Operation> {
        self.operations.get(self.index_of(side, slot)?)
    }

    /// The index of the operation of a slot.
    pub(crate) fn index_of(&self, side: Side, slot: usize) -> Option<usize> {
        self.frontier.slots.of(side).partition_point(|first| *first <= slot).checked_sub(1)
    }

    /// The written operations with their fields. `lists` are the lists around the level.
    pub(in crate::definition) fn changes(&self, lists: &Sides<String>) -> Vec<FieldChange> {
        let mut found = Vec::new();
        for operation in self.operations.iter().filter(|operation| operation.line > 0) {
            let paths = |side: Side| {
                let places = operation.places.of(side).iter();
                places.map(|place| place.path.after(lists.of(side))).collect::<Vec<_>>()
            };
            let (older, newer) = (paths(Side::Older), paths(Side::Newer));
            if let Some(items) = operation.items() {
                let list = |paths: &[String]| format!("{}[*]", paths.first().map_or("", String::as_str));
                let inside = items.level.changes(&Sides { older: list(&older), newer: list(&newer) });
                if older != newer {
                    found.push(operation.change(older, newer));
                }
                found.extend(inside);
                continue;
            }
            found.push(operation.change(older, newer));
        }
        found
    }

    /// One line for each operation, with its line in the definition. Omits implied operations. The prefixes are those
    /// of the lists around the level.
    pub(crate) fn describe(&self, prefixes: &Sides<String>) -> Vec<(u64, String)> {
        let operations = self.operations.iter();
        let written = operations.filter(|operation| operation.line > 0);
        written.flat_map(|operation| operation.describe(prefixes)).collect()
    }
}

/// Returns whether a default may be filled in on a side.
fn may_fill(frontier: &Frontier, operations: &[Operation], side: Side, root: Root) -> bool {
    let has_fill = |operation: &Operation, side| operation.places.of(side).iter().any(|place| place.fill.is_some());
    // A filled-in value stays if the field is required.
    let stays = |operation: &Operation| {
        let is_required = operation.places.of(side).iter().any(|place| place.required);
        is_required && (has_fill(operation, side.other()) || makes_content(frontier, side.other()))
    };
    // Required top-level fields decide whether an object is complete.
    let is_inside = |holder: &SharedObjectInfo| root == Root::Item || holder.within.is_some_and(|within| within > 0);
    let is_made =
        |holder: &SharedObjectInfo| holder.fills.of(side).is_some() || is_inside(holder) && *holder.required.of(side);
    frontier.cuts.iter().any(|cut| !cut.fills.of(side).is_empty())
        || frontier.holders.iter().any(is_made)
        || operations.iter().any(|operation| has_fill(operation, side) || stays(operation))
}

/// Returns whether the API server creates a shared object with contents.
fn makes_content(frontier: &Frontier, side: Side) -> bool {
    let mut made = frontier.holders.iter().filter_map(|holder| holder.fills.of(side).as_ref());
    made.any(|made| !made.cuts.is_empty())
}

/// The conversion of the items of a list or map.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) level: Level,
    /// The key fields of a list. Empty for a map, which has its own keys.
    pub(crate) keys: Sides<Vec<Place>>,
}
