//! What follows from the operations and the two schemas: what is left of objects that only one version has, what is
//! filled, and by what a complete object is told.

use std::collections::BTreeSet;

use super::Compiler;
use crate::definition::{Lens, Level, Operation, Path, Place, Schema, Side, Sides};
use crate::json::Json;

impl Compiler<'_> {
    /// Adds what follows from the operations: what is left of objects that only one version has, and which objects stay.
    pub(super) fn level(&self, mut operations: Vec<Operation>, root: bool) -> Level {
        let mut level = Level::default();
        let mut remainders = Vec::new();
        for side in [Side::Older, Side::Newer] {
            let (own, other) = match side {
                Side::Newer => (self.newer, self.older),
                Side::Older => (self.older, self.newer),
            };
            let mut objects = BTreeSet::new();
            for place in operations.iter().flat_map(|operation| operation.places.of(side)) {
                let mut path = place.path.clone();
                while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
                    objects.insert(parent.clone());
                    path = parent;
                }
            }
            let mut foreign: Vec<Path> = Vec::new();
            for path in objects {
                if other.at(&path).is_none() {
                    // Outermost first: what is left of it holds what is left inside.
                    if !foreign.iter().any(|outer| path.starts_with(outer)) {
                        foreign.push(path);
                    }
                } else if other.requires(&path) || (root && path.len() == 1) {
                    level.stays.of_mut(side.other()).push(path);
                }
            }
            for path in foreign {
                let schema = own.at(&path).cloned().unwrap_or_default();
                // Only what no operation names is left, so requirements of the whole do not apply to it.
                let schema = Schema { required: BTreeSet::new(), ..schema };
                let mut places = Sides::default();
                *places.of_mut(side) = vec![Place {
                    id: path.to_string(),
                    path,
                    schema,
                    fill: None,
                    required: false,
                    remainder: true,
                }];
                remainders.push(Operation { name: "move", places, lens: Lens::OneSided });
            }
        }
        operations.extend(remainders);
        level.operations = operations;
        level
    }
}

/// Fields that both versions have, that only the older one requires, and that it has a default for: readers of the older
/// version rely on the API server to have filled it, which it does when it reads that version from storage.
pub(super) fn filled_requirements(
    older: &Schema,
    newer: &Schema,
    operations: &[Operation],
) -> Vec<Operation> {
    let mut found = Vec::new();
    requirements(older, newer, &Path::default(), &mut found);
    found.retain(|path| {
        let named = operations.iter().flat_map(|operation| &operation.places.older);
        !named
            .into_iter()
            .any(|place| place.path.starts_with(path) || path.starts_with(&place.path))
    });
    let place = |schema: &Schema, path: &Path, fill: bool| {
        let schema = schema.at(path).cloned().unwrap_or_default();
        let fill =
            schema.default.as_ref().filter(|_| fill).map(|value| Json::owned(value.to_string()));
        vec![Place {
            id: path.to_string(),
            path: path.clone(),
            schema,
            required: fill.is_some(),
            fill,
            remainder: false,
        }]
    };
    let operation = |path: Path| Operation {
        name: "required",
        places: Sides { older: place(older, &path, true), newer: place(newer, &path, false) },
        lens: Lens::Same,
    };
    found.into_iter().map(operation).collect()
}

fn requirements(older: &Schema, newer: &Schema, path: &Path, found: &mut Vec<Path>) {
    for (name, inner) in &older.properties {
        let Some(other) = newer.properties.get(name) else {
            continue;
        };
        let path = path.join(name);
        if inner.default.is_some()
            && older.required.contains(name)
            && !newer.required.contains(name)
            && other.default.is_none()
        {
            found.push(path);
        } else {
            requirements(inner, other, &path, found);
        }
    }
}

/// The fields by which both versions tell a complete object: `spec`, and what both require in it. They survive the
/// conversion as they are, so an object is complete in both versions or in none.
pub(super) fn complete(
    older: &Schema,
    newer: &Schema,
    operations: &[Operation],
) -> Vec<Sides<Path>> {
    let spec = Path::default().join("spec");
    let (Some(older_spec), true) = (older.at(&spec), newer.at(&spec).is_some()) else {
        return Vec::new();
    };
    let mut fields = vec![Sides { older: spec.clone(), newer: spec.clone() }];
    for name in &older_spec.required {
        let path = spec.join(name);
        let mut touching = operations.iter().filter(|operation| {
            operation
                .places
                .older
                .iter()
                .any(|place| place.path.starts_with(&path) || path.starts_with(&place.path))
        });
        let image = match touching.next() {
            None => Some(path.clone()),
            Some(Operation { lens: Lens::Same | Lens::Split { .. }, places, .. })
                if places.older.first().is_some_and(|place| place.path == path) =>
            {
                places.newer.first().map(|place| place.path.clone())
            }
            Some(_) => None,
        };
        if let Some(image) = image.filter(|image| newer.requires(image)) {
            fields.push(Sides { older: path, newer: image });
        }
    }
    fields
}

/// Top-level fields that are objects in both versions.
pub(super) fn objects(older: &Schema, newer: &Schema) -> Vec<String> {
    let is_object = |schema: &Schema, name: &str| {
        schema
            .properties
            .get(name)
            .is_none_or(|property| property.kind.as_deref() == Some("object"))
    };
    let names: BTreeSet<&String> = older.properties.keys().chain(newer.properties.keys()).collect();
    names
        .into_iter()
        .filter(|name| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
        .filter(|name| is_object(older, name) && is_object(newer, name))
        .cloned()
        .collect()
}
