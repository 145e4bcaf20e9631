//! Operations that nobody writes, because they follow from those that somebody wrote and from the two schemas.
//!
//! If the older version has `mode` with a default and the newer one has it without, the API server shows readers of the
//! older version a value that nobody wrote, and a writer of that version brings it home. Filled in by an operation, it is
//! known for what it is, and goes again on the way home.

use super::mapping::Operation;
use super::same::Same;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::Sides;

/// Fields that both versions have, that no operation names, and that the API server fills in differently. In an object
/// that operations may make that goes for every field with a default.
pub(in crate::definition) fn filled(older: &Schema, newer: &Schema, operations: &[Operation]) -> Vec<Operation> {
    let named: Vec<&Path> = operations.iter().flat_map(Operation::all_places).map(|place| &place.path).collect();
    let mut found = Vec::new();
    differing(older, newer, &Path::default(), &named, &mut found);
    found.into_iter().map(|places| Operation::between("required", places, Same)).collect()
}

fn differing(older: &Schema, newer: &Schema, path: &Path, named: &[&Path], found: &mut Vec<Sides<Place>>) {
    // `spec` is there wherever anything is filled in; other objects may be made for what is moved into them.
    let made = path.len() > 1 && named.iter().any(|named| named.starts_with(path));
    for (name, one, two) in properties(older, newer) {
        let (Some(one), Some(two)) = (one, two) else {
            continue;
        };
        let path = path.join(name);
        if named.iter().any(|named| path.starts_with(named)) {
            continue;
        }
        let reached = named.iter().any(|named| named.starts_with(&path));
        let place = |holder: &Schema, schema: &Schema| Place {
            required: holder.required.contains(name),
            ..Place::new(path.clone(), schema.clone())
        };
        let places = Sides { older: place(older, one), newer: place(newer, two) };
        let fill = |place: &Place| place.fill.as_ref().map(|fill| fill.to_text());
        let differs = fill(&places.older) != fill(&places.newer);
        if !reached && (differs || (made && places.older.fill.is_some())) {
            found.push(places);
        } else {
            differing(one, two, &path, named, found);
        }
    }
}
