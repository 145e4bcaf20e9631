//! Fields below a name of the other version: `status.v2.conditions` of v1 is `status.conditions` of v2.

use super::shape::has_fields;
use crate::definition::{Path, Schema, Side, Sides};

/// Lists the pairs of fields of which one is below a name of the other version.
pub(super) fn versioned_pairs(schemas: Sides<&Schema>, versions: &Sides<&str>) -> Vec<Sides<Path>> {
    let mut pairs = Vec::new();
    for side in [Side::Older, Side::Newer] {
        let (own, other) = (*schemas.of(side), *schemas.of(side.other()));
        let mut holders = Vec::new();
        collect(&Path::default(), own, versions.of(side.other()), &mut holders);
        for holder in holders {
            let Some(fields) = own.at(&holder).filter(|_| other.at(&holder).is_none()) else { continue };
            for name in fields.properties.keys() {
                let Some(outside) = outside(&holder, name, other) else { continue };
                let inside = holder.join(name);
                pairs.push(match side {
                    Side::Older => Sides { older: inside, newer: outside },
                    Side::Newer => Sides { older: outside, newer: inside },
                });
            }
        }
    }
    pairs
}

/// The objects with the name of a version.
fn collect(at: &Path, schema: &Schema, version: &str, found: &mut Vec<Path>) {
    for (name, property) in schema.properties.iter().filter(|(_, property)| has_fields(property)) {
        let path = at.join(name);
        match name == version {
            true => found.push(path),
            false => collect(&path, property, version, found),
        }
    }
}

/// The nearest enclosing object of the other schema that has a field of this name.
fn outside(holder: &Path, name: &str, other: &Schema) -> Option<Path> {
    let mut parent = holder.parent();
    while let Some(object) = parent.filter(|object| !object.is_empty()) {
        let field = object.join(name);
        if other.at(&field).is_some() {
            return Some(field);
        }
        parent = object.parent();
    }
    None
}
