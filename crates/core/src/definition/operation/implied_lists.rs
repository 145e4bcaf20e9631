//! Implied `each` operations, which result from the two schemas.
//!
//! If list items have a default or a null in one version only, the API server changes items that a client wrote in the
//! other version. An `each` without operations of its own distinguishes such a value from a written one ([`filled`]).

use super::each_item::implied;
use super::implications::filled;
use super::mapping::Operation;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::Sides;

/// Finds lists and maps at the same path in both versions, without an operation, whose items have a default or a null
/// in one version only. `handled` are older fields that the rollout status handles.
pub(in crate::definition) fn lists_to_fill(
    older: &Schema,
    newer: &Schema,
    operations: &[Operation],
    handled: &[Path],
) -> Vec<Operation> {
    let named: Vec<&Path> =
        operations.iter().flat_map(Operation::all_places).map(|place| &place.path).chain(handled).collect();
    let mut found = Vec::new();
    search(Sides { older, newer }, &Path::default(), &named, &mut found);
    found
}

fn search(Sides { older, newer }: Sides<&Schema>, path: &Path, named: &[&Path], found: &mut Vec<Operation>) {
    if named.contains(&path) || older.kind != newer.kind {
        return;
    }
    if let (Some(one), Some(two)) = (&older.each, &newer.each) {
        let mut operations = lists_to_fill(one, two, &[], &[]);
        operations.extend(filled(one, two, &operations));
        let is_set = [older, newer].iter().any(|schema| schema.list_type.as_deref() == Some("set"));
        if !operations.is_empty() && !is_set {
            let place = |schema: &Schema| Place::new(path.clone(), schema.clone());
            found.extend(implied(Sides { older: place(older), newer: place(newer) }, operations));
        }
        return;
    }
    for (name, one, two) in properties(older, newer) {
        if let (Some(older), Some(newer)) = (one, two) {
            search(Sides { older, newer }, &path.join(name), named, found);
        }
    }
}
