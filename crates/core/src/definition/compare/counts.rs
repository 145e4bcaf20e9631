//! Objects, maps and lists with a size limit to which operations add entries, or from which they remove entries.
//!
//! A full map with `maxProperties: 1` may receive another entry, and an object with `minProperties: 1` may lose its
//! only field. Clients could read such an object, but not write it back.

use crate::definition::operation::Operation;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};

/// A bound that an operation may violate.
pub(super) struct Count {
    /// The line of the operation. 0 if it is implied.
    pub(super) line: u64,
    /// The object or map.
    pub(super) path: Path,
    /// The keyword.
    pub(super) bound: &'static str,
    /// The operation.
    pub(super) operation: &'static str,
    /// The value of the keyword in both versions.
    pub(super) version_values: [String; 2],
}

/// The bounds that operations between two schemas may violate.
pub(super) fn counts(schemas: &Sides<&Schema>, operations: &[Operation]) -> Vec<Count> {
    let mut found: Vec<Count> = Vec::new();
    for operation in operations {
        found.extend(items(operation));
        for side in [Side::Older, Side::Newer] {
            for place in operation.places.of(side).iter().filter(|place| !stays(operation, side, place)) {
                let mut path = place.path.clone();
                while let Some(holder) = path.parent() {
                    for bound in ["minProperties", "maxProperties"] {
                        let bounded =
                            schemas.of(side).at(&holder).is_some_and(|schema| schema.bounds.contains_key(bound));
                        if bounded && !found.iter().any(|other| other.path == holder && other.bound == bound) {
                            let (line, operation, path) = (operation.line, operation.name, holder.clone());
                            let version_values =
                                [bound_text(schemas.older, &holder, bound), bound_text(schemas.newer, &holder, bound)];
                            found.push(Count { line, path, bound, operation, version_values });
                        }
                    }
                    path = holder;
                }
            }
        }
    }
    found
}

/// The bounds of a list or map whose items may be left out.
fn items(operation: &Operation) -> Vec<Count> {
    let Some((older, newer)) = operation.places.older.first().zip(operation.places.newer.first()) else {
        return Vec::new();
    };
    let is_whole = |inner: &&Operation| inner.all_places().any(|place| place.path.is_empty());
    let Some(inner) = operation.items().and_then(|items| items.level.operations.iter().find(is_whole)) else {
        return Vec::new();
    };
    // An item stays if its value, or a required field of it, has a value in the other version.
    let stays = |side: Side| {
        let is_sure = |place: &Place| place.path.is_empty() || place.path.len() == 1 && place.required;
        let places = inner.places.of(side);
        !places.is_empty() && places.iter().all(is_sure) && inner.may_lack(side, 0).is_none()
    };
    if stays(Side::Older) && stays(Side::Newer) {
        return Vec::new();
    }
    let bounds = ["minItems", "maxItems", "minProperties", "maxProperties"].into_iter();
    let bounds = bounds.filter(|bound| [older, newer].iter().any(|place| place.schema.bounds.contains_key(*bound)));
    let bound_text = |place: &Place, bound: &str| bound_text(&place.schema, &Path::default(), bound);
    let count = |bound| Count {
        line: inner.line,
        path: older.path.clone(),
        bound,
        operation: inner.name,
        version_values: [bound_text(older, bound), bound_text(newer, bound)],
    };
    bounds.map(count).collect()
}

/// Returns whether a place of one side has a value exactly if its sibling on the other side has one.
fn stays(operation: &Operation, side: Side, place: &Place) -> bool {
    let total = |to: Side| operation.may_lack(to, 0).is_none();
    let is_sibling = |other: &Place| other.path.parent() == place.path.parent();
    // A default on this side only would add an entry.
    let is_as_sure = |other: &Place| place.fill.is_none() || other.fill.is_some();
    let others = operation.places.of(side.other());
    matches!(others.as_slice(), [other] if is_sibling(other) && is_as_sure(other)) && total(side) && total(side.other())
}

fn bound_text(schema: &Schema, path: &Path, bound: &str) -> String {
    let value = schema.at(path).and_then(|schema| schema.bounds.get(bound));
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}
