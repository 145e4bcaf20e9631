//! The consequences of a change of the schema of one version.
//!
//! An API server prunes fields that the schema lacks, fills in defaults on each read, and validates on writes only,
//! without unchanged values (`apiextensions-apiserver pkg/apiserver/validation/ratcheting.go`). So a removed field
//! loses values, and a tighter bound refuses writes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::change_example::{OTHERS, Place, beyond, completed, has_default, object_with, path, sample};
use super::crd_impact::{CrdChange, Impact, NEW_VERSION, READERS, change};
use crate::apimachinery::{INT64_END, excerpt, is_integer_bound};

/// The comparison of two revisions of the schema of one version.
pub(in crate::registration) struct RevisedSchema<'c> {
    pub(in crate::registration) version: &'c str,
    pub(in crate::registration) changes: &'c mut Vec<CrdChange>,
    /// The field that is compared.
    pub(in crate::registration) place: Vec<Place>,
}

impl RevisedSchema<'_> {
    fn note(&mut self, impact: Impact, what: impl Into<String>, advice: &str) {
        self.changes.push(change(self.version, &path(&self.place), impact, what, advice));
    }

    /// A breaking change, with a value of the field that shows it.
    fn breaks(&mut self, what: impl Into<String>, advice: &str, value: Option<Value>) {
        self.note(Impact::Breaking, what, advice);
        if let Some(change) = self.changes.last_mut() {
            change.example = value.map(|value| object_with(&self.place, value));
        }
    }

    /// Compares a part of the field.
    fn within(&mut self, place: Place, compare: impl FnOnce(&mut Self)) {
        self.place.push(place);
        compare(self);
        self.place.pop();
    }

    pub(in crate::registration) fn compare(&mut self, old: &Value, new: &Value) {
        let (before, after) = (kind(old), kind(new));
        if before != after {
            let what = format!("the type changed from {before} to {after}");
            if !is_wider(before, after) {
                let what = format!("{what}: clients fail, and writes of the old type are refused");
                let advice = "add a version with the new type, and convert with `type` or `compute`";
                return self.breaks(what, advice, sample(old));
            }
            self.note(Impact::Risky, format!("{what}: readers see new types"), READERS);
        }
        self.values(old, new);
        self.bounds(old, new);
        self.rules(old, new);
        self.members(old, new);
        self.other_keys(old, new);
        match (old.get("items"), new.get("items")) {
            (Some(before), Some(after)) => self.within(Place::Item, |item| item.compare(before, after)),
            (Some(_), None) => self.note(Impact::Risky, "the items have no schema anymore", READERS),
            (None, Some(_)) if kind(old) == "array" => {
                self.note(Impact::Breaking, "the items get a schema: their values are pruned", NEW_VERSION);
            }
            _ => {}
        }
        self.other_keywords(old, new);
    }

    /// The keys of an object that `properties` does not list.
    fn other_keys(&mut self, old: &Value, new: &Value) {
        match (OtherKeys::of(old), OtherKeys::of(new)) {
            (OtherKeys::Checked(before), OtherKeys::Checked(after)) => {
                self.within(Place::Entry, |entry| entry.compare(before, after));
            }
            (OtherKeys::Kept | OtherKeys::Checked(_), OtherKeys::Pruned) => {
                self.note(
                    Impact::Breaking,
                    "fields that the schema does not list are pruned: values are lost",
                    NEW_VERSION,
                );
            }
            (OtherKeys::Kept, OtherKeys::Checked(_)) => {
                let what =
                    "fields that the schema does not list get a schema: values are pruned, and other types are refused";
                self.note(Impact::Breaking, what, NEW_VERSION);
            }
            (OtherKeys::Checked(_), OtherKeys::Kept) => {
                self.note(Impact::Risky, "the values have no schema anymore", READERS);
            }
            (OtherKeys::Pruned, OtherKeys::Kept | OtherKeys::Checked(_)) if kind(old) == "object" => {
                self.note(Impact::Risky, "fields that the schema does not list are kept", READERS);
            }
            _ => {}
        }
    }

    /// Keywords without a rule of their own, so that no difference is passed over.
    fn other_keywords(&mut self, old: &Value, new: &Value) {
        let key = "x-kubernetes-embedded-resource";
        match (flag(old, key), flag(new, key)) {
            (false, true) => {
                let what = "the value must be a complete object: writes without apiVersion or kind are refused";
                self.note(Impact::Breaking, what, NEW_VERSION);
            }
            (true, false) => self.note(Impact::Risky, format!("{key} is removed"), READERS),
            _ => {}
        }
        let keys = |schema: &Value| -> BTreeSet<String> {
            let keys = schema.as_object().into_iter().flatten().map(|(key, _)| key.clone());
            keys.filter(|key| !COMPARED.contains(&key.as_str()) && !bounds().any(|bound| bound == key)).collect()
        };
        for key in keys(old).union(&keys(new)) {
            if old.get(key) != new.get(key) {
                self.note(Impact::Risky, format!("{key} changed"), READERS);
            }
        }
    }

    /// Enums, defaults and null.
    fn values(&mut self, old: &Value, new: &Value) {
        let options = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
        match (options(old), options(new)) {
            (Some(before), Some(after)) => {
                for gone in before.iter().filter(|option| !after.contains(option)) {
                    let what = format!("the enum lost {gone}: writes of it are refused");
                    let advice = "add a version without it, and convert with `values`";
                    self.breaks(what, advice, Some(gone.clone()));
                }
                for added in after.iter().filter(|option| !before.contains(option)) {
                    self.note(Impact::Risky, format!("the enum has a new value {added}"), READERS);
                }
            }
            (None, Some(_)) => {
                self.note(Impact::Breaking, "the field has an enum: writes of other values are refused", NEW_VERSION);
            }
            (Some(_), None) => self.note(Impact::Risky, "the field has no enum anymore", READERS),
            (None, None) => {}
        }
        match (old.get("default"), new.get("default")) {
            (before, after) if before == after => {}
            (None, Some(default)) => {
                let what = format!(
                    "the default {} is new: objects without the field show it on each read",
                    excerpt_of(default)
                );
                self.note(Impact::Risky, what, "check that controllers treat it as the absent field");
            }
            (Some(default), None) => {
                let what =
                    format!("the default {} is removed: objects without the field show none", excerpt_of(default));
                self.note(Impact::Risky, what, "check that controllers accept an absent field");
            }
            (before, after) => {
                let what = format!("the default changed from {} to {}", shown(before), shown(after));
                self.note(
                    Impact::Risky,
                    what,
                    "check that controllers accept the new default in objects without a stored value",
                );
            }
        }
        match (flag(old, "nullable"), flag(new, "nullable")) {
            (true, false) => {
                let effect = match self.place.last() {
                    Some(Place::Item) => "writes of it are refused",
                    _ => "a null is dropped",
                };
                // Null is no option of an enum.
                let example = old.get("enum").is_none().then_some(Value::Null);
                self.breaks(format!("null is no longer allowed: {effect}"), NEW_VERSION, example);
            }
            (false, true) => self.note(Impact::Risky, "null is allowed", READERS),
            _ => {}
        }
    }

    fn bounds(&mut self, old: &Value, new: &Value) {
        for (keys, is_upper) in [(UPPER, true), (LOWER, false)] {
            for key in keys {
                // A length of at least 0 is no bound.
                let is_bound = |bound: &f64| *bound != 0.0 || !key.starts_with("min") || *key == "minimum";
                let number = |schema: &Value| schema.get(key).and_then(Value::as_f64).filter(is_bound);
                let is_tighter = match (number(old), number(new)) {
                    (Some(before), Some(after)) if before == after => continue,
                    (_, Some(after)) if !fits_type(key, new, after) => {
                        let bound = shown(new.get(key));
                        let what = format!("{key} {bound} does not fit the type: writes of integers are refused");
                        self.breaks(what, "use a whole number that fits the type and the format", sample(old));
                        continue;
                    }
                    (Some(before), Some(after)) => (after < before) == is_upper,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => continue,
                };
                match is_tighter {
                    true => {
                        let what =
                            format!("{key} is stricter: writes of other values are refused, apart from unchanged ones");
                        self.breaks(what, NEW_VERSION, beyond(key, old, new));
                    }
                    false => self.loosened(key),
                }
            }
        }
        for key in OTHERS {
            let of = |schema: &Value| schema.get(key).filter(|value| **value != Value::Bool(false)).cloned();
            match (of(old), of(new)) {
                (before, after) if before == after => {}
                (_, None) => self.loosened(key),
                // In another order.
                (Some(before), Some(after)) if is_looser(key, &before, &after) && is_looser(key, &after, &before) => {}
                (Some(before), Some(after)) if is_looser(key, &before, &after) => self.loosened(key),
                // The usual form of the type.
                (None, Some(after)) if key == &"anyOf" && kind(new) == "int-or-string" && is_both_types(&after) => {}
                (_, Some(_)) => {
                    let what =
                        format!("{key} changed: writes of values that it refuses fail, apart from unchanged ones");
                    self.note(Impact::Breaking, what, NEW_VERSION);
                }
            }
        }
    }

    fn loosened(&mut self, key: &str) {
        self.note(Impact::Safe, format!("{key} is less strict"), "");
    }

    /// Rules in CEL, and the merge of lists.
    fn rules(&mut self, old: &Value, new: &Value) {
        let rules = |schema: &Value| -> Vec<(String, bool)> {
            let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
            rules
                .filter_map(|rule| Some((rule.get("rule")?.as_str()?.to_owned(), flag(rule, "optionalOldSelf"))))
                .collect()
        };
        let (before, after) = (rules(old), rules(new));
        for (rule, _) in after.iter().filter(|rule| !before.contains(rule)) {
            let what = format!("a rule is new: writes that break it are refused: {}", excerpt(rule));
            self.note(Impact::Breaking, what, "first test the rule with copies of your objects on a test cluster");
        }
        for (rule, _) in before.iter().filter(|rule| !after.contains(rule)) {
            self.note(Impact::Safe, format!("a rule is removed: {}", excerpt(rule)), "");
        }
        let text = |schema: &Value, key: &str, default: &str| {
            schema.get(key).and_then(Value::as_str).unwrap_or(default).to_owned()
        };
        let list = |schema: &Value| text(schema, "x-kubernetes-list-type", "atomic");
        let keys = |schema: &Value| schema.get("x-kubernetes-list-map-keys").cloned();
        match (list(old), list(new)) {
            (before, after) if before == after && keys(old) == keys(new) => {}
            (_, after) if after == "atomic" => self.note(Impact::Risky, format!("the list type {MERGED}"), APPLY),
            _ => {
                let what = format!("the list type {MERGED}, and duplicates are refused");
                self.note(Impact::Breaking, what, APPLY);
            }
        }
        let map = |schema: &Value| text(schema, "x-kubernetes-map-type", "granular");
        if map(old) != map(new) {
            self.note(Impact::Risky, format!("the map type {MERGED}"), APPLY);
        }
    }

    fn members(&mut self, old: &Value, new: &Value) {
        let properties =
            |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let (before, after) = (properties(old), properties(new));
        for (name, schema) in &before {
            let first = self.changes.len();
            self.within(Place::Member(name.clone()), |field| match (after.get(name), OtherKeys::of(new)) {
                (Some(newer), _) | (None, OtherKeys::Checked(newer)) => field.compare(schema, newer),
                (None, OtherKeys::Kept) => field.note(Impact::Risky, "the field has no schema anymore", READERS),
                (None, OtherKeys::Pruned) => field.breaks(
                    "the field is removed: stored values are lost at the next write, and reads do not show them",
                    "keep the field, and add a version without it, with `drop`, `rename` or `move`",
                    sample(schema),
                ),
            });
            // The field alone may be no complete object.
            for change in self.changes.iter_mut().skip(first) {
                change.example = change.example.take().and_then(|example| completed(example, &self.place, old));
            }
        }
        let was_pruned = matches!(OtherKeys::of(old), OtherKeys::Pruned);
        for (name, schema) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            let (impact, what) = match was_pruned {
                false => (Impact::Breaking, "the field has a schema now: other values are refused"),
                true if schema.get("default").is_some() => {
                    (Impact::Risky, "the field is new, and all objects show its default")
                }
                true => (Impact::Safe, "the field is new"),
            };
            self.within(Place::Member(name.clone()), |field| field.note(impact, what, ""));
        }
        self.required((old, &before), (new, &after));
    }

    /// Required fields. Each revision is a schema with its properties.
    fn required(&mut self, (old, before): (&Value, &Map<String, Value>), (new, after): (&Value, &Map<String, Value>)) {
        let required = |schema: &Value| -> BTreeSet<String> {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
        };
        let has_default = |fields: &Map<String, Value>, name: &str| fields.get(name).is_some_and(has_default);
        let (was, is) = (required(old), required(new));
        let example = sample(old);
        let mut note = |name: &str, impact: Impact, what: &str, advice: &str| {
            self.within(Place::Member(name.to_owned()), |field| field.note(impact, what, advice));
            // The object without the field.
            if let Some(change) = self.changes.last_mut().filter(|_| impact == Impact::Breaking) {
                let without = example.clone().filter(|object| object.get(name).is_none());
                change.example = without.map(|object| object_with(&self.place, object));
            }
        };
        for name in is.difference(&was) {
            match has_default(after, name) {
                true => note(name, Impact::Safe, "the field is required, and has a default", ""),
                false => note(
                    name,
                    Impact::Breaking,
                    "the field is required: writes without it are refused",
                    "give the field a default, or add a version that requires it, with `fill`",
                ),
            }
        }
        for name in is.intersection(&was).filter(|name| has_default(before, name) && !has_default(after, name)) {
            let what = "the field is required, and its default is removed: writes without it are refused";
            note(name, Impact::Breaking, what, "keep the default");
        }
        for name in was.difference(&is).filter(|name| after.contains_key(*name)) {
            note(name, Impact::Risky, "the field is optional: readers may see objects without it", READERS);
        }
    }
}

/// What happens to the keys of an object that `properties` does not list.
enum OtherKeys<'s> {
    Pruned,
    Kept,
    Checked(&'s Value),
}

impl<'s> OtherKeys<'s> {
    fn of(schema: &'s Value) -> Self {
        match schema.get("additionalProperties") {
            Some(values) if values.as_object().is_some_and(|keys| !keys.is_empty()) => Self::Checked(values),
            Some(Value::Bool(true) | Value::Object(_)) => Self::Kept,
            _ if flag(schema, "x-kubernetes-preserve-unknown-fields") => Self::Kept,
            _ => Self::Pruned,
        }
    }
}

/// Returns whether each value that a keyword permits is still permitted.
fn is_looser(key: &str, old: &Value, new: &Value) -> bool {
    match (key, old, new) {
        ("anyOf", Value::Array(before), Value::Array(after)) => before.iter().all(|one| after.contains(one)),
        ("allOf", Value::Array(before), Value::Array(after)) => after.iter().all(|one| before.contains(one)),
        ("oneOf", Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().all(|one| after.contains(one))
        }
        ("multipleOf", before, after) => match (before.as_u64(), after.as_u64()) {
            (Some(before), Some(after)) => before.checked_rem(after) == Some(0),
            _ => false,
        },
        ("format", Value::String(before), Value::String(after)) => before == "int32" && after == "int64",
        _ => false,
    }
}

/// Returns whether a bound fits the type and the format of a schema. Otherwise API servers refuse each integer.
fn fits_type(key: &str, schema: &Value, bound: f64) -> bool {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    match kind(schema) {
        "integer" => !["minimum", "maximum"].contains(&key) || is_integer_bound(format, bound),
        _ => key != "maximum" || bound.abs() < INT64_END,
    }
}

/// Returns whether `anyOf` only repeats the types of `x-kubernetes-int-or-string`.
fn is_both_types(any_of: &Value) -> bool {
    let is = |one: &str, other: &str| *any_of == json!([{"type": one}, {"type": other}]);
    is("integer", "string") || is("string", "integer")
}

/// The keywords of bounds.
fn bounds() -> impl Iterator<Item = &'static str> {
    UPPER.iter().chain(LOWER).chain(OTHERS).copied()
}

/// The type of a schema.
fn kind(schema: &Value) -> &str {
    match flag(schema, "x-kubernetes-int-or-string") {
        true => "int-or-string",
        false => schema.get("type").and_then(Value::as_str).unwrap_or("any"),
    }
}

/// Returns whether the values of a type are a part of those of another type.
fn is_wider(old: &str, new: &str) -> bool {
    matches!((old, new), ("integer", "number") | ("integer" | "string", "int-or-string") | (_, "any"))
}

pub(in crate::registration) fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

pub(in crate::registration) fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), excerpt_of)
}

fn excerpt_of(value: &Value) -> String {
    excerpt(&value.to_string())
}

/// Keywords with a rule of their own, and keywords without an effect.
const COMPARED: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "default",
    "nullable",
    "description",
    "title",
    "example",
    "externalDocs",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

const MERGED: &str = "changed: server-side apply merges the field in another way";
const APPLY: &str = "apply again with each field manager";

const UPPER: &[&str] = &["maximum", "maxLength", "maxItems", "maxProperties"];
const LOWER: &[&str] = &["minimum", "minLength", "minItems", "minProperties"];
