//! Operations that nobody writes, because they follow from those that somebody wrote and from the two schemas.
//!
//! If `spec.tls.cert` moves to `spec.certificate` and the newer version has no `spec.tls`, then what else somebody put
//! under `spec.tls` has nowhere to stand: this remainder is dropped, and kept for the way back.

use std::collections::BTreeSet;

use super::mapping::{Level, Operation};
use super::{one_sided::one_sided, same::Same};
use crate::definition::schema::{Schema, properties};
use crate::definition::side::{Side, Sides};
use crate::definition::{path::Path, place::Place};

/// What holds the fields of a level.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Holder {
    /// An item of a list, or a value of a map.
    Item,
    /// The object itself. What is directly in it, such as its spec, never goes because it is empty.
    Root,
}

/// Adds what is left of objects that only one version has, and finds which objects stay.
pub(crate) fn level(
    older: &Schema,
    newer: &Schema,
    mut operations: Vec<Operation>,
    holder: Holder,
) -> Level {
    let mut stays = Sides::<Vec<Path>>::default();
    let mut remainders = Vec::new();
    for (side, own, other) in [(Side::Older, older, newer), (Side::Newer, newer, older)] {
        let mut foreign: Vec<Path> = Vec::new();
        for path in on_the_way(&operations, side) {
            if other.at(&path).is_none() {
                // Outermost first: what is left of it holds what is left inside.
                if !foreign.iter().any(|outer| path.starts_with(outer)) {
                    foreign.push(path);
                }
            } else if other.requires(&path) || (holder == Holder::Root && path.len() == 1) {
                stays.of_mut(side.other()).push(path);
            }
        }
        for path in foreign {
            if let Some(schema) = own.at(&path) {
                // Only what no operation names is left, so requirements of the whole do not apply to it.
                let schema = Schema { required: BTreeSet::new(), ..schema.clone() };
                let place = Place { remainder: true, ..Place::new(path, schema) };
                remainders.push(one_sided("move", side, place));
            }
        }
    }
    operations.extend(remainders);
    Level { operations, stays }
}

/// The objects that hold the places of a side, outermost first.
fn on_the_way(operations: &[Operation], side: Side) -> BTreeSet<Path> {
    let mut objects = BTreeSet::new();
    for place in operations.iter().flat_map(|operation| operation.places.of(side)) {
        let mut path = place.path.clone();
        while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
            objects.insert(parent.clone());
            path = parent;
        }
    }
    objects
}

/// Fields that both versions have, that only the older one requires, and that it has a default for: readers of the older
/// version rely on the API server to have filled it, which it does when it reads that version from storage.
pub(crate) fn filled_requirements(
    older: &Schema,
    newer: &Schema,
    operations: &[Operation],
) -> Vec<Operation> {
    let mut found = Vec::new();
    requirements(older, newer, &Path::default(), &mut found);
    found.retain(|places| {
        !operations.iter().any(|operation| operation.touches(Side::Older, &places.older.path))
    });
    found.into_iter().map(|places| Operation::between("required", places, Same)).collect()
}

fn requirements(older: &Schema, newer: &Schema, path: &Path, found: &mut Vec<Sides<Place>>) {
    for (name, one, two) in properties(older, newer) {
        let (Some(one), Some(two)) = (one, two) else {
            continue;
        };
        let path = path.join(name);
        let required = older.required.contains(name) && !newer.required.contains(name);
        if required && one.default.is_some() && two.default.is_none() {
            let mut place = Place { required: true, ..Place::new(path.clone(), one.clone()) };
            place.fill_with_default();
            found.push(Sides { older: place, newer: Place::new(path, two.clone()) });
        } else {
            requirements(one, two, &path, found);
        }
    }
}
