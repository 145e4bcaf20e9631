//! The values that a write adds to kept annotations. Conversion restores such a value in another version. So that
//! version must allow the value, and the client must be allowed to write its place.

use std::collections::BTreeSet;

use super::kept::{Entry, Kept, KeptFields};
use super::object::Object;
use crate::definition::{Kind, Level, Operation, Schema, Side};
use crate::json::Json;

/// A value that a write adds to a kept annotation.
pub(crate) struct AddedValue {
    /// The annotation.
    pub(crate) annotation: String,
    /// The version for which the value is kept.
    pub(crate) version: String,
    /// The place of the value in that version.
    pub(crate) path: String,
    /// Whether the version's schema allows the value: types, enums and bounds.
    pub(crate) is_allowed: bool,
}

/// The values in the new object's kept annotations that the old object lacks.
pub(crate) fn added_values(kind: &Kind, new: &Object<'_>, old: Option<&Object<'_>>) -> Vec<AddedValue> {
    let mut added = Vec::new();
    for (side, step) in kind.steps.iter().flat_map(|step| [(Side::Older, step), (Side::Newer, step)]) {
        let name = step.kept.of(side);
        let Some(text) = new.annotations.text(name) else { continue };
        let before = old.and_then(|old| old.annotations.text(name));
        if before.as_ref() == Some(&text) {
            continue;
        }
        let Some(kept) = Kept::parse(&text) else { continue };
        let before = before.as_deref().and_then(Kept::parse).unwrap_or_default();
        let mut known = BTreeSet::new();
        each_value(&step.level, side, &before.fields, "", &mut |path, value, _, _| {
            known.insert((path.to_owned(), value.to_text()));
        });
        each_value(&step.level, side, &kept.fields, "", &mut |path, value, schema, whole| {
            if !known.contains(&(path.to_owned(), value.to_text())) {
                added.push(AddedValue {
                    annotation: name.clone(),
                    version: step.versions.of(side).to_string(),
                    path: path.to_owned(),
                    is_allowed: allows(schema, value, whole),
                });
            }
        });
    }
    added
}

/// A kept value with the wrong JSON type for its version. Conversion keeps it without restoring it. Otherwise a client
/// could store a value that no reader of that version decodes.
pub(crate) struct MistypedValue {
    /// The annotation.
    pub(crate) annotation: String,
    /// The version for which the value is kept.
    pub(crate) version: String,
    /// The place of the value in that version.
    pub(crate) path: String,
}

/// The values in an object's kept annotations that conversion does not restore because of their JSON type.
pub(crate) fn mistyped_values(kind: &Kind, object: &Object<'_>) -> Vec<MistypedValue> {
    let mut found = Vec::new();
    for (side, step) in kind.steps.iter().flat_map(|step| [(Side::Older, step), (Side::Newer, step)]) {
        let name = step.kept.of(side);
        let Some(text) = object.annotations.text(name) else { continue };
        let Some(kept) = Kept::parse(&text) else { continue };
        each_value(&step.level, side, &kept.fields, "", &mut |path, value, schema, _| {
            if !schema.has_types_of(value) {
                let (annotation, version) = (name.clone(), step.versions.of(side).to_string());
                found.push(MistypedValue { annotation, version, path: path.to_owned() });
            }
        });
    }
    found
}

/// The part of a value in an entry.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Portion {
    /// The whole value.
    Whole,
    /// An object without the fields that have their own entries.
    Rest,
}

/// Receives the path, the value, its schema and the portion.
type Take<'t> = dyn FnMut(&str, &Json<'_>, &Schema, Portion) + 't;

/// Visits the values of entries that conversion restores.
fn each_value(level: &Level, side: Side, fields: &KeptFields<'_>, prefix: &str, take: &mut Take<'_>) {
    for (id, entry) in fields.all() {
        let path = format!("{prefix}{id}");
        if let Entry::Rest { rest, .. } = entry {
            let cut = level.frontier.cuts.iter().find(|cut| cut.id == id);
            if let Some(schema) = cut.and_then(|cut| cut.schemas.of(side).as_ref()) {
                take(&path, rest, schema, Portion::Rest);
            }
            continue;
        }
        let mut operations = level.operations.iter();
        let of_entry = |operation: &&Operation| operation.places.of(side).first().is_some_and(|place| place.id == id);
        let Some(operation) = operations.find(of_entry) else { continue };
        let places = operation.places.of(side);
        for (place, value) in places.iter().zip(entry.given(places.len()).unwrap_or_default()) {
            if let Some(value) = value {
                take(&format!("{prefix}{}", place.id), &value, &place.schema, Portion::Whole);
            }
        }
        let (Entry::Each(kept), Some(inside)) = (entry, operation.items()) else { continue };
        let inside_path = format!("{path}[*].");
        for item in &kept.items {
            if let Some(fields) = KeptFields::read(item.entries.clone()) {
                each_value(&inside.level, side, &fields, &inside_path, take);
            }
        }
        let item_schema = places.first().and_then(|place| place.schema.each.as_deref());
        for ((_, item), schema) in kept.omitted.iter().zip(item_schema.into_iter().cycle()) {
            take(&format!("{path}[*]"), item, schema, Portion::Whole);
        }
    }
}

/// Returns whether a schema allows a value. Members missing in a rest are no error.
fn allows(schema: &Schema, value: &Json<'_>, portion: Portion) -> bool {
    match portion {
        Portion::Rest if value.is_object() => value
            .members()
            .iter()
            .all(|(name, member)| schema.member(name).is_none_or(|inner| allows(inner, member, Portion::Rest))),
        Portion::Rest | Portion::Whole => schema.admits(value),
    }
}
