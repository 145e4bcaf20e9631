//! Object references of which the newer version has only the API group, and no namespace.

use serde_json::json;

use crate::definition::{Path, Schema, Sides};
use crate::draft::entry::{Entry, Operation};

/// The operation on the `apiVersion` of a reference, with its fields.
pub(super) struct Reference {
    pub(super) split: Entry,
    pub(super) older: Path,
    pub(super) newer: Path,
}

/// Finds a reference to an object: `apiVersion` in the older version, and the group alone in the newer version. `at`
/// are the places of the reference. `version` is the name of the older version, which new references get.
pub(super) fn reference(schemas: &Sides<&Schema>, at: &Sides<Path>, version: &str) -> Option<Reference> {
    let Sides { older, newer } = schemas;
    let only = |schema: &Schema, other: &Schema, name: &str| {
        schema.properties.get(name).is_some_and(|field| field.is("string")) && !other.properties.contains_key(name)
    };
    let group = ["apiGroup", "group"].into_iter().find(|name| only(newer, older, name))?;
    if !only(older, newer, "apiVersion") || !older.properties.contains_key("kind") {
        return None;
    }
    let [from, to] = [at.older.join("apiVersion"), at.newer.join(group)];
    let split = json!({"field": from.to_string(), "into": [to.to_string(), "_"], "separator": "/", "rest": version});
    let mut split = Entry::guess(
        Operation::Line("split".to_owned(), split),
        "the newer version has only the group of the apiVersion",
    );
    split.question = Some(format!("which API version belongs in {from} of a new reference? This draft uses {version}"));
    Some(Reference { split, older: from, newer: to })
}

/// Drops the namespace of a reference. Only the older version has this field.
pub(super) fn namespace(field: &Path) -> Entry {
    let drop = json!({"field": field.to_string(), "valueFrom": "metadata.namespace"});
    Entry::guess(
        Operation::Line("drop".to_owned(), drop),
        "a reference without a namespace points to the namespace of the object that contains it",
    )
}
