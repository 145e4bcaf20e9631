//! An operation as it runs: where it stands on both sides, and what becomes of the values there.
//!
//! A mapping may lose. What makes a conversion lossless is the comparison of the way there and back, which keeps
//! whatever would not come back by itself; so no operation says what it loses, and none can forget it.
//!
//! With `values: {field: spec.mode, map: {fast: Quick}}`, an older `fast` maps to `Quick` and comes back as `fast`:
//! nothing is kept. An older `Quick`, which the schema may allow too, maps to `Quick` and would come back as `fast`: it
//! is kept.

use std::fmt;

use smallvec::SmallVec;

use super::condition::Condition;
use crate::definition::frontier::{Frontier, SharedObjectInfo, Part, Root};
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// A value at each place of one side; `None` is absence.
pub(crate) type Fragment<'a> = SmallVec<[Option<Json<'a>>; 2]>;

/// What an operation makes of values, in both directions.
pub(super) trait Mapping: fmt::Debug + Send + Sync {
    /// Maps the values of one side to the other side's places. `to` is the side that is written, `places` are its
    /// places. It is not asked what becomes of nothing: that is nothing.
    fn map<'a>(&self, to: Side, places: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a>;

    /// What the comparison of the schemas is left with at the first place of each side, which messages call `at`.
    fn unexplained(&self, _at: &str, _older: &Place, _newer: &Place) -> Unexplained {
        Unexplained::default()
    }

    /// Why a value at the first place of the other side may give none at the place `at` of the side `to`. `None` where
    /// it always gives one.
    fn may_lack(&self, _to: Side, _at: usize, _places: &Sides<Vec<Place>>) -> Option<String> {
        None
    }

    /// The places that a description names, of those of one side.
    fn described<'p>(&self, places: &'p [Place]) -> &'p [Place] {
        places
    }

    /// What happens inside a list or map.
    fn items(&self) -> Option<&Items> {
        None
    }

    /// Whether the value is the same on both sides.
    fn is_same(&self) -> bool {
        false
    }

    /// Whether an object at the other side is something at the side `to`, whatever is in it.
    fn shows_objects(&self, _to: Side) -> bool {
        self.is_same() || self.items().is_some()
    }

    /// Whether different values stay different ones, both ways.
    fn tells_apart(&self, _places: &Sides<Vec<Place>>) -> bool {
        self.is_same()
    }

    /// Whether the newer version has nothing in the place of the older field.
    fn drops(&self) -> bool {
        false
    }

    /// How many bytes a value at a place of the side `to` has more than what it was made of, at most.
    fn adds(&self, _to: Side) -> u64 {
        0
    }
}

/// What an operation does not explain by itself.
#[derive(Default)]
pub(crate) struct Unexplained {
    /// Why the operation cannot work here.
    pub(crate) problem: Option<String>,
    /// Two schemas that have to agree for the rest.
    pub(crate) schemas: Option<Sides<Schema>>,
    /// Whether the operation keeps a null that one version does not allow.
    pub(crate) keeps_null: bool,
}

impl Unexplained {
    pub(super) fn schemas(older: Schema, newer: Schema) -> Self {
        Self { problem: None, schemas: Some(Sides { older, newer }), keeps_null: false }
    }
}

/// One operation, both directions.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its key in the definition; `required` for one that loading adds.
    pub(crate) name: &'static str,
    pub(crate) places: Sides<Vec<Place>>,
    /// Its line in the definition; 0 for one that loading adds.
    pub(crate) line: u64,
    /// When it runs on the way to the newer version: where all of these hold.
    pub(crate) conditions: Vec<Condition>,
    mapping: Box<dyn Mapping>,
}

impl Operation {
    pub(super) fn new(name: &'static str, places: Sides<Vec<Place>>, mapping: impl Mapping + 'static) -> Self {
        Self { name, places, line: 0, conditions: Vec::new(), mapping: Box::new(mapping) }
    }

    /// One place on each side.
    pub(super) fn between(name: &'static str, places: Sides<Place>, mapping: impl Mapping + 'static) -> Self {
        Self::new(name, places.map(|place| vec![place]), mapping)
    }

    /// Maps the values of one side to the other side's places. `to` is the side that is written.
    pub(crate) fn map<'a>(&self, to: Side, from: &[Option<Json<'a>>]) -> Fragment<'a> {
        self.mapping.map(to, self.places.of(to), from)
    }

    /// What happens inside, if this is about the items of a list or map.
    pub(crate) fn items(&self) -> Option<&Items> {
        self.mapping.items()
    }

    /// Whether the value is the same on both sides.
    pub(crate) fn is_same(&self) -> bool {
        self.mapping.is_same()
    }

    /// Whether an object at the other side is something at the side `to`, whatever is in it.
    pub(crate) fn shows_objects(&self, to: Side) -> bool {
        self.mapping.shows_objects(to) && (to == Side::Older || self.conditions.is_empty())
    }

    /// Whether different values stay different ones, both ways.
    pub(super) fn tells_apart(&self) -> bool {
        self.mapping.tells_apart(&self.places) && self.conditions.is_empty()
    }

    /// Whether the newer version has nothing in the place of the older field.
    pub(crate) fn drops(&self) -> bool {
        self.mapping.drops()
    }

    /// How many bytes a value at a place of the side `to` has more than what it was made of, at most.
    pub(in crate::definition) fn adds(&self, to: Side) -> u64 {
        self.mapping.adds(to)
    }

    /// Why the place `at` of the side `to` may be without a value although the first place of the other side has one.
    pub(in crate::definition) fn may_lack(&self, to: Side, at: usize) -> Option<String> {
        let condition = self.conditions.first().filter(|_| to == Side::Newer);
        let when = || condition.map(|condition| format!("it is there only where {condition}"));
        self.mapping.may_lack(to, at, &self.places).or_else(when)
    }

    /// The places of both sides.
    pub(crate) fn all_places(&self) -> impl Iterator<Item = &Place> {
        self.places.older.iter().chain(&self.places.newer)
    }

    /// Whether a field of a side, its holder or its inside is a place of this operation.
    pub(crate) fn touches(&self, side: Side, path: &Path) -> bool {
        let mut places = self.places.of(side).iter();
        places.any(|place| place.path.starts_with(path) || path.starts_with(&place.path))
    }

    /// What the comparison of the schemas is left with. `name` makes the name of a path in messages.
    pub(crate) fn unexplained(&self, name: impl FnOnce(&Path) -> String) -> Option<(String, Unexplained)> {
        let (older, newer) = (self.places.older.first()?, self.places.newer.first()?);
        let at = name(&older.path);
        let unexplained = self.mapping.unexplained(&at, older, newer);
        Some((at, unexplained))
    }

    fn describe(&self, prefix: &str) -> Vec<(u64, String)> {
        let ids = |side| {
            let places = self.mapping.described(self.places.of(side)).iter();
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
            lines.extend(items.level.describe(&format!("{newer}[*].")));
        }
        lines
    }
}

/// Operations on one object, and where the two versions part by them.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub(crate) operations: Vec<Operation>,
    pub(crate) frontier: Frontier,
    /// Whether some of the operations run under a condition.
    pub(crate) is_conditional: bool,
    /// What conditions may ask for beside the object.
    pub(crate) facts: Vec<Fact>,
}

/// Something that is looked up beside an object of the older version: whether a Secret that it names has a key.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) name: String,
    /// The field that names the Secret. Where it is not set, there is nothing to look up, and the fact is false.
    pub(crate) secret: Place,
    pub(crate) key: String,
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

    /// Whose place a slot of a side is.
    pub(crate) fn operation_of(&self, side: Side, slot: usize) -> Option<&Operation> {
        self.operations.get(self.index_of(side, slot)?)
    }

    /// The same, by its index.
    pub(crate) fn index_of(&self, side: Side, slot: usize) -> Option<usize> {
        self.frontier.slots.of(side).partition_point(|first| *first <= slot).checked_sub(1)
    }

    /// One line for each operation, with where it stands in the definition. What loading adds by itself is left out:
    /// the user did not write it.
    pub(crate) fn describe(&self, prefix: &str) -> Vec<(u64, String)> {
        let operations = self.operations.iter();
        let written = operations.filter(|operation| operation.line > 0);
        written.flat_map(|operation| operation.describe(prefix)).collect()
    }
}

/// Whether something may be filled in on a side.
fn may_fill(frontier: &Frontier, operations: &[Operation], side: Side, root: Root) -> bool {
    let has_fill = |operation: &Operation, side| operation.places.of(side).iter().any(|place| place.fill.is_some());
    // What was filled in there stays where it is required.
    let stays = |operation: &Operation| {
        let is_required = operation.places.of(side).iter().any(|place| place.required);
        is_required && (has_fill(operation, side.other()) || makes_content(frontier, side.other()))
    };
    // What is required at the top tells whether an object is complete.
    let is_inside = |holder: &SharedObjectInfo| root == Root::Item || holder.within.is_some_and(|within| within > 0);
    let is_made = |holder: &SharedObjectInfo| holder.fills.of(side).is_some() || is_inside(holder) && *holder.required.of(side);
    frontier.cuts.iter().any(|cut| !cut.fills.of(side).is_empty())
        || frontier.holders.iter().any(is_made)
        || operations.iter().any(|operation| has_fill(operation, side) || stays(operation))
}

/// Whether the API server makes an object of both versions with something in it.
fn makes_content(frontier: &Frontier, side: Side) -> bool {
    let mut made = frontier.holders.iter().filter_map(|holder| holder.fills.of(side).as_ref());
    made.any(|made| !made.cuts.is_empty())
}

/// What happens inside a list or map.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) level: Level,
    /// What tells the items of a list apart. Nothing for a map, whose keys do.
    pub(crate) keys: Sides<Vec<Place>>,
}
