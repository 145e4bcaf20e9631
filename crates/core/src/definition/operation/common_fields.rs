//! The fields of a moved object that no operation names.

use super::mapping::Operation;
use super::same::Same;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::{Side, Sides};

/// Returns a `move` for each field that both objects have and that no operation names. Continues inside of an object
/// with operations. The objects are at `at` in the two schemas.
pub(super) fn common_fields(schemas: &Sides<&Schema>, at: &Sides<Path>, operations: &[Operation]) -> Vec<Operation> {
    let mut found = Vec::new();
    let [older, newer] = [Side::Older, Side::Newer].map(|side| schemas.of(side).at(at.of(side)));
    let Some((older, newer)) = older.zip(newer) else { return found };
    for (name, one, two) in properties(older, newer) {
        let Some((one, two)) = one.zip(two) else { continue };
        let paths = Sides { older: at.older.join(name), newer: at.newer.join(name) };
        if is_named(&paths, operations) {
            continue;
        }
        if is_named_inside(&paths, operations) {
            if is_open(one) && is_open(two) {
                found.extend(common_fields(schemas, &paths, operations));
            }
            continue;
        }
        let place = |path: Path, parent: &Schema, schema: &Schema| Place {
            required: parent.required.contains(name),
            ..Place::new(path, schema.clone())
        };
        let places = Sides { older: place(paths.older, older, one), newer: place(paths.newer, newer, two) };
        let mut operation = Operation::between("move", places, Same);
        operation.is_inferred = true;
        found.push(operation);
    }
    found
}

fn is_open(schema: &Schema) -> bool {
    schema.is("object") && schema.each.is_none()
}

fn is_named(paths: &Sides<Path>, operations: &[Operation]) -> bool {
    let named = |side: Side| {
        let mut places = operations.iter().flat_map(move |operation| operation.places.of(side));
        places.any(|place| place.path == *paths.of(side))
    };
    named(Side::Older) || named(Side::Newer)
}

fn is_named_inside(paths: &Sides<Path>, operations: &[Operation]) -> bool {
    let inside = |side: Side| {
        let mut places = operations.iter().flat_map(move |operation| operation.places.of(side));
        places.any(|place| place.path.starts_with(paths.of(side)))
    };
    inside(Side::Older) || inside(Side::Newer)
}
