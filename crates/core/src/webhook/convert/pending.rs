//! Pending values in annotations for versions beyond the next step, and the objects that they need.
//!
//! v1 and v2 have an object in which v3 keeps a value. v1 uses another name for it.
//!
//! ```text
//! v3  spec: {store: {days: 3, legacy: y}}
//! v2  spec: {store: {days: 3}}                kept-v3: spec.store.legacy
//! v1  spec: {backup: {}, days: 3}             kept-v3: spec.store.legacy
//! ```
//!
//! At v1 the empty object stays, because a value is pending for it. If a client removes it there, `legacy` is removed
//! too: when a needed object is absent, the next step discards the pending value. So the value is not restored into
//! another object that is created later.

use super::annotations::Annotations;
use super::bit_set::BitSet;
use super::kept::{Entry, Kept};
use super::tree;
use crate::definition::frontier::{Branch, Frontier, Part};
use crate::definition::{Kind, Level, Operation, Path, Side, Sides, Step, VersionIndex};
use crate::json::Json;

/// The objects of each side of a step that must stay for pending values of more distant versions.
pub(super) fn needed(kind: &Kind, step: &Step, annotations: &Annotations<'_>) -> Sides<Vec<Path>> {
    let mut found = Sides::<Vec<Path>>::default();
    if kind.steps.len() < 2 {
        return found;
    }
    for side in [Side::Older, Side::Newer] {
        let Some(near) = kind.versions.named(step.versions.of(side)) else { continue };
        let behind = kind.versions.indices().filter(|version| match side {
            Side::Older => *version < near,
            Side::Newer => *version > near,
        });
        for version in behind {
            let text = kind.kept_annotation(version).and_then(|name| annotations.text(name));
            let kept = text.as_deref().and_then(Kept::parse);
            let entries = kept.iter().flat_map(|kept| kept.fields.waiting());
            let entries = entries.filter(|(id, _)| is_restored(kind, id, (version, near)));
            found.of_mut(side).extend(entries.flat_map(|entry| objects_for(kind, annotations, entry, (version, near))));
        }
    }
    found
}

/// Discards pending values in absent objects, for versions other than the two of a step. `from` is the side of the
/// object.
pub(super) fn forget<'a>(
    kind: &'a Kind,
    step: &Step,
    from: Side,
    root: &mut Json<'_>,
    annotations: &mut Annotations<'a>,
) {
    let versions = [Side::Older, Side::Newer].map(|side| kind.versions.named(step.versions.of(side)));
    let Some(here) = kind.versions.named(step.versions.of(from)).filter(|_| kind.steps.len() > 1) else { return };
    for version in kind.versions.indices().filter(|version| !versions.contains(&Some(*version))) {
        let Some(name) = kind.kept_annotation(version) else { continue };
        let Some(text) = annotations.text(name).map(|text| text.into_owned()) else { continue };
        let Some(mut kept) = Kept::parse(&text) else { continue };
        let mut is_there = |path: &Path| {
            path.is_empty() || tree::get(root, "", path).ok().flatten().is_some_and(|value| !value.is_null())
        };
        let mut is_missing = |entry: (&str, &Entry<'_>)| {
            is_restored(kind, entry.0, (version, here))
                && !objects_for(kind, annotations, entry, (version, here)).iter().all(&mut is_there)
        };
        if kept.fields.forget(&mut is_missing) {
            annotations.rewrite(name, kept);
        }
    }
}

/// Returns whether an entry can restore a value at a place of a version. A client may write many other entries, which
/// are ignored without a search for their objects.
fn is_restored(kind: &Kind, id: &str, (of, at): (VersionIndex, VersionIndex)) -> bool {
    let Some((to, step)) = kind.steps_between(of, at).next() else { return false };
    let (frontier, operations) = (&step.level.frontier, &step.level.operations);
    let mut places = operations.iter().filter_map(|operation| operation.places.of(to.other()).first());
    let mut status = step.status.iter().flat_map(|status| [&status.requests, &status.hashes]);
    places.any(|place| place.id == id)
        || frontier.cuts.iter().any(|cut| cut.id == id)
        || frontier.holders.iter().any(|holder| holder.id == id)
        || status.any(|request_fields| request_fields.requested.id == id || request_fields.completed.id == id)
}

/// The objects of a version that must exist for a kept value of another version to be restored: its own place, or the
/// parents of the restored values.
fn objects_for(
    kind: &Kind,
    annotations: &Annotations<'_>,
    (id, entry): (&str, &Entry<'_>),
    (of, at): (VersionIndex, VersionIndex),
) -> Vec<Path> {
    let mut paths: Vec<Path> = Path::parse(id).into_iter().collect();
    for (index, (to, step)) in kind.steps_between(of, at).enumerate() {
        let kept = if to == Side::Newer { kept_places(step, annotations) } else { Vec::new() };
        let is_kept = |operation: &Operation| {
            let place = operation.places.older.first().filter(|_| !operation.conditions.is_empty());
            place.is_some_and(|place| kept.contains(&place.id))
        };
        paths = match entry.is_about_what_is_there() || index > 0 {
            true => paths.iter().map(|path| across(&step.level, to, path, &is_kept)).collect(),
            false => {
                let given = paths.iter().flat_map(|path| places_given(&step.level, to.other(), path, entry));
                given.map(|path| way_to(&step.level.frontier, &path).holder).collect()
            }
        };
    }
    paths
}

/// The places of conditional operations whose values are kept for the older version. These operations did not run, and
/// the newer version has no object for them.
fn kept_places(step: &Step, annotations: &Annotations<'_>) -> Vec<String> {
    let text = annotations.text(&step.kept.older).filter(|_| step.level.is_conditional);
    let Some(kept) = text.as_deref().and_then(Kept::parse) else { return Vec::new() };
    kept.fields.all().map(|(id, _)| id).filter(|id| kept.fields.holds(id)).map(str::to_owned).collect()
}

/// The places that an entry restores. An operation with several places is kept under the first, even if only others
/// have a value.
fn places_given(level: &Level, side: Side, first: &Path, entry: &Entry<'_>) -> Vec<Path> {
    let mut places = level.operations.iter().map(|operation| operation.places.of(side));
    let several = places.find(|places| places.len() > 1 && places.first().is_some_and(|place| place.path == *first));
    let given = several.and_then(|places| Some((places, entry.given(places.len())?)));
    match given {
        Some((places, given)) => {
            let given = places.iter().zip(given).filter(|(_, value)| value.is_some());
            given.map(|(place, _)| place.path.clone()).collect()
        }
        None => vec![first.clone()],
    }
}

/// The shared objects on the path to a place.
struct WayTo {
    /// The last shared object.
    holder: Path,
    /// All shared objects.
    holders: Vec<usize>,
    /// The split point on the path, and the number of names up to it.
    cut: Option<(usize, usize)>,
}

fn way_to(frontier: &Frontier, path: &Path) -> WayTo {
    let mut found = WayTo { holder: Path::default(), holders: Vec::new(), cut: None };
    let mut branch = &frontier.root;
    let mut names = path.names().iter();
    loop {
        match branch {
            Branch::Cut(cut) => {
                found.cut = Some((*cut, path.len() - names.len()));
                return found;
            }
            Branch::Holder(holder) => {
                found.holder = holder.path.clone();
                found.holders.push(holder.index);
                match names.next().and_then(|name| holder.branch(name)) {
                    Some((_, next)) => branch = next,
                    None => return found,
                }
            }
        }
    }
}

/// The place of an object on the other side of a step. If there is none, the object for which it is kept.
fn across(level: &Level, to: Side, object: &Path, is_kept: &dyn Fn(&Operation) -> bool) -> Path {
    let way = way_to(&level.frontier, object);
    let Some((cut, depth)) = way.cut else { return object.clone() };
    let Some(cut) = level.frontier.cuts.get(cut) else { return way.holder };
    let (mut part, mut depth) = (cut.parts.of(to.other()), depth);
    while let Part::Object(parts) = part {
        let inner = object.names().get(depth).and_then(|name| parts.iter().find(|(other, _)| other == name));
        let Some((_, inner)) = inner else { return way.holder };
        (part, depth) = (inner, depth + 1);
    }
    let Part::Slot(slot) = part else { return way.holder };
    let Some(operation) = level.operation_of(to.other(), *slot).filter(|operation| !is_kept(operation)) else {
        return way.holder;
    };
    let Some(place) = operation.places.of(to).first() else { return way.holder };
    match keeps_objects(operation) {
        true => object.moved(&object.split_at(depth).0, &place.path),
        false if operation.shows_objects(to) => place.path.clone(),
        false => way.holder,
    }
}

/// Returns whether an object on one side of an operation is always an object on the other side. Other operations may
/// keep a value without a visible object.
fn keeps_objects(operation: &Operation) -> bool {
    operation.is_same() || operation.items().is_some()
}

/// The objects of one side of a step that must stay.
#[derive(Default)]
pub(super) struct RetainedObjects {
    /// The shared objects.
    pub(super) holders: BitSet,
    /// The objects of one version alone: the split point, and the path below it.
    pub(super) inside: Vec<(usize, Path)>,
    /// The objects at places of operations: the slot.
    pub(super) slots: Vec<usize>,
}

impl RetainedObjects {
    /// `needed` are objects at `side`. `to` is the side that is written.
    pub(super) fn new(level: &Level, side: Side, to: Side, needed: &[Path]) -> Self {
        let frontier = &level.frontier;
        let mut staying = Self::default();
        if needed.is_empty() {
            return staying;
        }
        for path in needed {
            let way = way_to(frontier, path);
            let cut = way.cut.map(|(cut, depth)| (cut, path.split_at(depth).1));
            let slot = cut.as_ref().and_then(|(cut, rest)| {
                let part = frontier.cuts.get(*cut).map(|cut| cut.parts.of(side));
                slot_on_the_way(part?, rest.names())
            });
            // If an operation moves the value, other objects contain it there. The objects that it leaves are created
            // again in the conversion back.
            let moved = slot.filter(|_| side != to).and_then(|slot| level.operation_of(side, slot));
            let holders = match moved.is_some_and(|operation| operation.shows_objects(to)) {
                true => way_to(frontier, &across(level, to, path, &|_| false)).holders,
                false => way.holders,
            };
            holders.into_iter().for_each(|holder| staying.holders.insert(holder));
            match (slot, cut) {
                (Some(slot), _) => staying.slots.push(slot),
                (None, Some(inside)) if !staying.inside.contains(&inside) => staying.inside.push(inside),
                (None, _) => {}
            }
        }
        staying
    }

    /// The objects that must stay at a split point, without contents. `None` if there are none.
    pub(super) fn skeleton<'a>(&self, cut: usize) -> Option<Json<'a>> {
        let mut skeleton = None;
        for (_, path) in self.inside.iter().filter(|(other, _)| *other == cut) {
            let object = skeleton.get_or_insert_with(|| Json::Object(Default::default()));
            for end in 1..=path.len() {
                let (way, _) = path.split_at(end);
                if !matches!(tree::get(object, "", &way), Ok(Some(_))) {
                    tree::put(object, &way, Json::Object(Default::default())).ok()?;
                }
            }
        }
        skeleton
    }
}

/// The slot of the operation on the path to an object. `None` for an object of one version alone.
fn slot_on_the_way(part: &Part, names: &[Box<str>]) -> Option<usize> {
    match (part, names.split_first()) {
        (Part::Slot(slot), _) => Some(*slot),
        (Part::Object(parts), Some((name, rest))) => {
            let (_, part) = parts.iter().find(|(other, _)| other == name)?;
            slot_on_the_way(part, rest)
        }
        (Part::Object(_), None) | (Part::Unknown, _) => None,
    }
}
