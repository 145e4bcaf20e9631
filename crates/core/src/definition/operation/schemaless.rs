//! Fields inside of parts without a schema, such as an object that preserves unknown fields.
//!
//! A part without a schema can contain any field, in both versions. With `rename: {from: params.a, to: params.b}`, an
//! older object may also have a `b`, and a newer object an `a`. These two are fields of one version: they are kept.

use super::mapping::Operation;
use super::single_version::one_sided;
use crate::definition::metadata_field::MetadataMap;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};

/// For each path without a schema: adds the path to both schemas. If no operation uses the path in the other version,
/// adds a `drop` or `add` there. Returns the new schemas, or `None` if every path has a schema.
pub(in crate::definition) fn with_schemaless_fields(
    schemas: &Sides<&Schema>,
    operations: &mut Vec<Operation>,
) -> Option<Sides<Schema>> {
    let missing = |side: Side| {
        let places = operations.iter().flat_map(move |operation| operation.places.of(side));
        let places = places.filter(|place| schemas.of(side).at(&place.path).is_none());
        places.map(|place| (place.path.clone(), place.metadata)).collect::<Vec<_>>()
    };
    let paths = Sides { older: missing(Side::Older), newer: missing(Side::Newer) };
    let mut completed: Option<Sides<Schema>> = None;
    for (path, _) in paths.older.iter().chain(&paths.newer) {
        let completed = completed.get_or_insert_with(|| schemas.as_ref().map(|schema| Schema::clone(schema)));
        completed.older.add_schemaless(path.names());
        completed.newer.add_schemaless(path.names());
    }
    for (side, name) in [(Side::Older, "add"), (Side::Newer, "drop")] {
        let others = paths.of(side.other());
        // A field inside of a place, or around it, belongs to the operation of this place.
        let overlaps = |path: &Path| others.iter().any(|(other, _)| other.starts_with(path) || path.starts_with(other));
        let places = paths.of(side).iter().filter(|(path, _)| !overlaps(path));
        let place = |(path, metadata): &(Path, Option<MetadataMap>)| Place {
            metadata: *metadata,
            ..Place::new(path.clone(), Schema::anything())
        };
        operations.extend(places.map(|at| one_sided(name, side.other(), place(at))));
    }
    completed
}
