//! Access to the JSON of a CRD's schema.

use serde_json::Value as Schema;

use super::value::{Segment, Value};

/// The schema of a member: a property, or the values of a map.
#[must_use]
pub fn property<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    schema.get("properties").and_then(|properties| properties.get(name)).or_else(|| map_values(schema))
}

/// The schema of a member or element.
#[must_use]
pub fn inside<'s>(schema: &'s Schema, segment: &Segment) -> Option<&'s Schema> {
    match segment {
        Segment::Name(name) => property(schema, name),
        Segment::Index(_) => schema.get("items"),
    }
}

/// The schema at a place.
#[must_use]
pub fn schema_at<'s>(schema: &'s Schema, way: &[Segment]) -> Option<&'s Schema> {
    way.iter().try_fold(schema, inside)
}

/// The schema of the values of a map.
#[must_use]
pub fn map_values(schema: &Schema) -> Option<&Schema> {
    schema.get("additionalProperties").filter(|inner| inner.is_object())
}

/// A boolean keyword.
#[must_use]
pub fn flag(schema: &Schema, name: &str) -> bool {
    schema.get(name).and_then(Schema::as_bool).unwrap_or_default()
}

/// A numeric keyword.
#[must_use]
pub fn bound(schema: &Schema, name: &str) -> Option<f64> {
    schema.get(name).and_then(Schema::as_f64)
}

/// The properties of an object.
pub fn properties(schema: &Schema) -> impl Iterator<Item = (&String, &Schema)> {
    schema.get("properties").and_then(Schema::as_object).into_iter().flatten()
}

/// The number of fields and items of a schema on all levels, up to `most`.
#[must_use]
pub fn fields(schema: &Schema, most: usize) -> usize {
    let mut found = 0;
    let mut queue = vec![schema];
    while let Some(schema) = queue.pop() {
        found += 1;
        if found == most {
            break;
        }
        queue.extend(properties(schema).map(|(_, inner)| inner));
        queue.extend(map_values(schema).into_iter().chain(schema.get("items")));
    }
    found
}

/// The names of the required members.
pub fn required(schema: &Schema) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Schema::as_array);
    names.into_iter().flatten().filter_map(Schema::as_str)
}

/// Returns whether a member is required.
#[must_use]
pub fn requires(schema: &Schema, name: &str) -> bool {
    required(schema).any(|other| other == name)
}

/// Returns whether unknown fields are preserved.
#[must_use]
pub fn preserves(schema: &Schema) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields") || flag(schema, "additionalProperties")
}

/// Returns whether a list with keys, or a set, already contains an equal element.
#[must_use]
pub fn clashes(schema: &Schema, elements: &[Value], element: &Value) -> bool {
    if schema.get("x-kubernetes-list-type").and_then(Schema::as_str) == Some("set") {
        return elements.contains(element);
    }
    let Some(keys) = schema.get("x-kubernetes-list-map-keys").and_then(Schema::as_array) else {
        return false;
    };
    let same = |other: &Value| keys.iter().filter_map(Schema::as_str).all(|key| other.get(key) == element.get(key));
    elements.iter().any(same)
}

/// The schema for the part of an object that one field manager owns: without required fields.
#[must_use]
pub fn relaxed(schema: &Schema) -> Schema {
    match schema {
        Schema::Object(members) => {
            let required = |name: &str, value: &Schema| name == "required" && value.is_array();
            members
                .iter()
                .filter(|(name, value)| !required(name, value))
                .map(|(name, value)| (name.clone(), relaxed(value)))
                .collect()
        }
        Schema::Array(elements) => elements.iter().map(relaxed).collect(),
        other => other.clone(),
    }
}

/// The minimum number of items of a list.
#[must_use]
pub fn least_items(schema: &Schema, way: &[Segment]) -> usize {
    schema_at(schema, way).and_then(|list| bound(list, "minItems")).unwrap_or_default() as usize
}
