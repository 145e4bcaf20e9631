//! The split points of two versions: the smallest set of places such that every field of an operation is at or below
//! one of them.
//!
//! Above the split points are objects that both versions have ([`SharedObject`]). These objects stay in place, and so
//! do fields without an operation. At a split point the whole value is removed and built again for the other side.
//!
//! With `rename: {from: spec.port, to: spec.net.port}`, where only the newer version has `spec.net`:
//!
//! | split point | older | newer |
//! |---|---|---|
//! | `spec.port` | the operation's place | unknown: the newer version ignores a value here |
//! | `spec.net` | unknown | an object with the operation's place at `port`, and a remainder |

use std::collections::BTreeMap;
use std::iter;

use serde_json::Value;

use super::path::Path;
use super::schema::Schema;
use super::side::{Side, Sides};
use crate::json::Json;

/// The split points of one level of operations.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    pub(crate) root: Branch,
    pub(crate) cuts: Vec<SplitPoint>,
    /// All objects that both versions have and that contain a field of an operation. Each object is listed after its
    /// parent.
    pub(crate) holders: Vec<SharedObjectInfo>,
    /// Whether the value of a shared object may be no object.
    pub(crate) has_schemaless: bool,
    /// For each operation, the first slot and one past the last slot. The slots are the places of a side in order.
    pub(crate) slots: Sides<Vec<usize>>,
    /// The split point of each slot.
    cut_of: Sides<Vec<Option<usize>>>,
    /// For each slot: whether the object that contains its split point requires the value.
    pub(crate) needed: Sides<Vec<bool>>,
    /// Whether a default may be filled in on a side.
    pub(crate) fills: Sides<bool>,
    /// Whether a default may be filled in inside of an object that only one version has, or inside of an object that
    /// the API server creates.
    pub(crate) fills_inside: Sides<bool>,
}

/// The value that the operations of a level convert.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Root {
    /// An item of a list, or a value of a map.
    Item,
    /// The object itself. Its direct members, such as its spec, stay even if empty.
    Object,
}

/// The end of a path from the root.
#[derive(Debug)]
pub(crate) enum Branch {
    /// The versions differ here.
    Cut(usize),
    /// An object that both versions have.
    Holder(SharedObject),
}

/// An object that both versions have and that contains a field of an operation.
#[derive(Debug, Default)]
pub(crate) struct SharedObject {
    pub(crate) index: usize,
    pub(crate) path: Path,
    /// Whether the value may be no object, because both versions have no schema for it.
    pub(crate) is_schemaless: bool,
    /// Sorted by name.
    pub(crate) branches: Vec<(Box<str>, Branch)>,
}

/// The properties of a shared object, apart from its place.
#[derive(Debug)]
pub(crate) struct SharedObjectInfo {
    /// The enclosing shared object.
    pub(crate) within: Option<usize>,
    /// The path as written in kept fields.
    pub(crate) id: String,
    /// For each version: whether the version requires the object, so that it stays when empty.
    pub(crate) stays: Sides<bool>,
    /// For each version: whether the enclosing object requires this object.
    pub(crate) required: Sides<bool>,
    /// For each version: the default that the API server fills in if the object is absent.
    pub(crate) fills: Sides<Option<FilledObject>>,
}

/// An object that the API server fills in. An operation covers each field that the default names.
#[derive(Debug, Default)]
pub(crate) struct FilledObject {
    /// The values at split points inside of the object, by the index of the split point.
    pub(crate) cuts: Vec<(usize, Json<'static>)>,
    /// The shared objects inside of it that the default sets to an object.
    pub(crate) objects: Vec<usize>,
    /// The shared objects inside of it that the default sets to null.
    pub(crate) nulls: Vec<usize>,
}

/// A place where the versions differ.
#[derive(Debug)]
pub(crate) struct SplitPoint {
    /// The path as written in kept fields.
    pub(crate) id: String,
    /// The number of names in the path.
    depth: usize,
    /// The enclosing shared object. `None` if the root itself is the split point.
    pub(crate) holder: Option<usize>,
    pub(crate) parts: Sides<Part>,
    pub(crate) schemas: Sides<Option<Schema>>,
    /// The slots of operations that use this split point on both sides, if a side has an object of its own here that
    /// requires the field. From the value the one version detects that the other version has the object.
    pub(crate) shown: Sides<Vec<usize>>,
    /// The defaults that the API server fills in for objects of one version alone, outermost first: the path from the
    /// split point, and the default.
    pub(crate) fills: Sides<Vec<(Path, Json<'static>)>>,
}

/// The content of a version at or below a split point.
#[derive(Debug)]
pub(crate) enum Part {
    /// An object that only this version has, with its members. Sorted by name.
    Object(Vec<(Box<str>, Self)>),
    /// A place of an operation.
    Slot(usize),
    /// No operation of this version uses the place.
    Unknown,
}

impl Default for Branch {
    fn default() -> Self {
        Self::Holder(SharedObject::default())
    }
}

impl Frontier {
    /// Returns the split point of a slot.
    pub(crate) fn cut(&self, side: Side, slot: usize) -> Option<&SplitPoint> {
        self.cuts.get((*self.cut_of.of(side).get(slot)?)?)
    }

    /// Returns whether a field is neither at, below nor above a split point, and therefore stays unchanged.
    pub(super) fn leaves_alone(&self, field: &Path) -> bool {
        let mut branch = &self.root;
        for name in field.names() {
            match branch {
                Branch::Cut(_) => return false,
                Branch::Holder(holder) => match holder.branch(name) {
                    Some((_, next)) => branch = next,
                    None => return true,
                },
            }
        }
        false
    }

    /// Returns a shared object and all its ancestors.
    pub(crate) fn around(&self, holder: Option<usize>) -> impl Iterator<Item = usize> {
        iter::successors(holder, |index| self.holders.get(*index).and_then(|held| held.within))
    }
}

impl SharedObject {
    pub(crate) fn branch(&self, name: &str) -> Option<(usize, &Branch)> {
        let at = position(&self.branches, name)?;
        self.branches.get(at).map(|(_, branch)| (at, branch))
    }
}

impl FilledObject {
    fn new(branches: &[(Box<str>, Branch)], default: &Value) -> Self {
        let mut filled = Self::default();
        filled.fill(branches, default);
        filled
    }

    fn fill(&mut self, branches: &[(Box<str>, Branch)], value: &Value) {
        for (name, branch) in branches {
            match (branch, value.get(&**name)) {
                (Branch::Cut(cut), Some(value)) => self.cuts.push((*cut, Schema::written(value))),
                (Branch::Holder(holder), Some(Value::Null)) => self.nulls.push(holder.index),
                (Branch::Holder(holder), Some(value)) => {
                    self.objects.push(holder.index);
                    self.fill(&holder.branches, value);
                }
                (_, None) => {}
            }
        }
    }
}

/// Returns the position of a name in a list that is sorted by name.
pub(crate) fn position<T>(sorted: &[(Box<str>, T)], name: &str) -> Option<usize> {
    // For few names, comparing lengths is faster than a binary search.
    match sorted.len() {
        0..16 => sorted.iter().position(|(other, _)| **other == *name),
        _ => sorted.binary_search_by(|(other, _)| (**other).cmp(name)).ok(),
    }
}

impl Part {
    /// Collects the objects here and below that have a default.
    fn defaults(&self, schema: &Schema, path: &Path, found: &mut Vec<(Path, Json<'static>)>) {
        let Self::Object(parts) = self else { return };
        found.extend(schema.default_value().map(|default| (path.clone(), default)));
        for (name, part) in parts {
            if let Some(inner) = schema.member(name) {
                part.defaults(inner, &path.join(name), found);
            }
        }
    }

    /// Returns the part at a path below this one.
    pub(crate) fn at(&self, path: &Path) -> Option<&Self> {
        path.names().iter().try_fold(self, |part, name| match part {
            Self::Object(parts) => parts.get(position(parts, name)?).map(|(_, part)| part),
            Self::Slot(_) | Self::Unknown => None,
        })
    }

    /// Returns whether a slot here or below fulfils a condition.
    pub(crate) fn any(&self, condition: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Self::Object(parts) => parts.iter().any(|(_, part)| part.any(condition)),
            Self::Slot(slot) => condition(*slot),
            Self::Unknown => false,
        }
    }
}

impl SplitPoint {
    fn new(
        path: &Path,
        holder: Option<usize>,
        schemas: &Sides<Option<&Schema>>,
        paths: &Sides<Vec<PathToSlot<'_>>>,
    ) -> Self {
        let part = |paths: &[PathToSlot<'_>]| if paths.is_empty() { Part::Unknown } else { part(paths) };
        let parts = Sides { older: part(&paths.older), newer: part(&paths.newer) };
        let mut fills = Sides::<Vec<_>>::default();
        for side in [Side::Older, Side::Newer] {
            if let Some(schema) = schemas.of(side) {
                parts.of(side).defaults(schema, &Path::default(), fills.of_mut(side));
            }
        }
        Self {
            id: path.to_string(),
            depth: path.len(),
            holder,
            shown: Sides::default(),
            fills,
            parts,
            schemas: Sides { older: schemas.older.cloned(), newer: schemas.newer.cloned() },
        }
    }
}

/// A place of an operation, used while the tree of branches is built.
struct PathToSlot<'p> {
    /// The rest of the path.
    rest: &'p [Box<str>],
    slot: usize,
}

impl Frontier {
    /// Returns the frontier of operations with these places, one list for each operation.
    pub(super) fn new(places: &Sides<Vec<Vec<&Path>>>, older: &Schema, newer: &Schema, root: Root) -> Self {
        let mut frontier = Self::default();
        let mut paths = Sides::<Vec<PathToSlot<'_>>>::default();
        for side in [Side::Older, Side::Newer] {
            let mut next = 0;
            for places in places.of(side) {
                frontier.slots.of_mut(side).push(next);
                for path in places {
                    paths.of_mut(side).push(PathToSlot { rest: path.names(), slot: next });
                    next += 1;
                }
            }
            frontier.slots.of_mut(side).push(next);
        }
        let schemas = Sides { older: Some(older), newer: Some(newer) };
        frontier.root = frontier.branch(Path::default(), (None, Sides::default()), &schemas, &paths);
        if root == Root::Object {
            // The maps of the metadata are always shown to operations.
            let stays = |held: &SharedObjectInfo| held.within == Some(0) || held.id.starts_with("metadata.");
            for held in frontier.holders.iter_mut().filter(|held| stays(held)) {
                held.stays = Sides { older: true, newer: true };
            }
        }
        for side in [Side::Older, Side::Newer] {
            let count = paths.of(side).len();
            let mut cut_of = vec![None; count];
            for (index, cut) in frontier.cuts.iter().enumerate() {
                cut.parts.of(side).any(&mut |slot| {
                    if let Some(place) = cut_of.get_mut(slot) {
                        *place = Some(index);
                    }
                    false
                });
            }
            *frontier.cut_of.of_mut(side) = cut_of;
        }
        for side in [Side::Older, Side::Newer] {
            let schema = schemas.of(side);
            let all = places.of(side).iter().flatten().zip(frontier.cut_of.of(side));
            let needed = all.map(|(path, cut)| {
                let depth = cut.and_then(|cut| frontier.cuts.get(cut)).map_or(0, |cut| cut.depth);
                schema.is_some_and(|schema| schema.needs(path, depth.saturating_sub(1)))
            });
            *frontier.needed.of_mut(side) = needed.collect();
        }
        for operation in 0..places.older.len() {
            frontier.find_shown(operation, places, &Sides { older, newer });
        }
        frontier
    }

    /// Records the slots of an operation at split points that it uses on both sides, if one slot is required by its
    /// object.
    fn find_shown(&mut self, operation: usize, places: &Sides<Vec<Vec<&Path>>>, schemas: &Sides<&Schema>) {
        let slots = |side: Side| {
            let first = self.slots.of(side).get(operation).copied().unwrap_or_default();
            let paths = places.of(side).get(operation).into_iter().flatten();
            let in_cut = (first..)
                .zip(paths)
                .filter_map(|(slot, path)| Some((slot, *path, (*self.cut_of.of(side).get(slot)?)?)));
            in_cut.collect::<Vec<_>>()
        };
        let slots = Sides { older: slots(Side::Older), newer: slots(Side::Newer) };
        for side in [Side::Older, Side::Newer] {
            for (slot, path, index) in slots.of(side) {
                let Some(cut) = self.cuts.get_mut(*index) else { continue };
                let is_object = matches!(cut.parts.of(side), Part::Object(_));
                if !is_object || !schemas.of(side).needs(path, cut.depth) {
                    continue;
                }
                let there = slots.of(side.other()).iter().filter(|(_, _, other)| other == index);
                let there: Vec<usize> = there.map(|(slot, ..)| *slot).collect();
                if !there.is_empty() {
                    cut.shown.of_mut(side).push(*slot);
                    cut.shown.of_mut(side.other()).extend(there);
                }
            }
        }
    }

    fn branch(
        &mut self,
        path: Path,
        (holder, required): (Option<usize>, Sides<bool>),
        schemas: &Sides<Option<&Schema>>,
        paths: &Sides<Vec<PathToSlot<'_>>>,
    ) -> Branch {
        let is_object = |schema: &Option<&Schema>| {
            schema.is_some_and(|schema| matches!(schema.kind.as_deref(), Some("object") | None))
        };
        let mut all = paths.older.iter().chain(&paths.newer);
        if all.any(|path| path.rest.is_empty()) || !is_object(&schemas.older) || !is_object(&schemas.newer) {
            self.cuts.push(SplitPoint::new(&path, holder, schemas, paths));
            return Branch::Cut(self.cuts.len() - 1);
        }
        let index = self.holders.len();
        let default = |side: Side| schemas.of(side).and_then(Schema::default_object);
        let defaults = Sides { older: default(Side::Older), newer: default(Side::Newer) };
        let stays = |side: Side| *required.of(side) || defaults.of(side).is_some();
        let stays = Sides { older: stays(Side::Older), newer: stays(Side::Newer) };
        self.holders.push(SharedObjectInfo {
            within: holder,
            id: path.to_string(),
            stays,
            required,
            fills: Sides::default(),
        });
        let mut names: BTreeMap<&str, Sides<Vec<PathToSlot<'_>>>> = BTreeMap::new();
        for side in [Side::Older, Side::Newer] {
            for PathToSlot { rest, slot } in paths.of(side) {
                if let Some((name, rest)) = rest.split_first() {
                    names.entry(name).or_default().of_mut(side).push(PathToSlot { rest, slot: *slot });
                }
            }
        }
        let branches: Vec<_> = names
            .into_iter()
            .map(|(name, paths)| {
                let inner = Sides {
                    older: schemas.older.and_then(|schema| schema.member(name)),
                    newer: schemas.newer.and_then(|schema| schema.member(name)),
                };
                let requires = |schema: Option<&Schema>| schema.is_some_and(|schema| schema.required.contains(name));
                let required = Sides { older: requires(schemas.older), newer: requires(schemas.newer) };
                (name.into(), self.branch(path.join(name), (Some(index), required), &inner, &paths))
            })
            .collect();
        if let Some(held) = self.holders.get_mut(index) {
            held.fills = defaults.map(|default| default.map(|default| FilledObject::new(&branches, &default)));
        }
        let is_schemaless = [schemas.older, schemas.newer].iter().flatten().all(|schema| schema.is_schemaless());
        self.has_schemaless |= is_schemaless;
        Branch::Holder(SharedObject { index, path, is_schemaless, branches })
    }
}

fn part(paths: &[PathToSlot<'_>]) -> Part {
    let mut inside: BTreeMap<&str, Vec<PathToSlot<'_>>> = BTreeMap::new();
    for PathToSlot { rest, slot } in paths {
        match rest.split_first() {
            None => return Part::Slot(*slot),
            Some((name, rest)) => inside.entry(name).or_default().push(PathToSlot { rest, slot: *slot }),
        }
    }
    Part::Object(inside.into_iter().map(|(name, paths)| (name.into(), part(&paths))).collect())
}
