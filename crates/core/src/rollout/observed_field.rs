//! A field of an object that a step writes, as it was seen, and patches of such fields that say what they have seen.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::json_patch::{field_pointer, test};
use crate::definition::Path;

/// A field as it was seen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ObservedField {
    value: Option<Value>,
    /// How many names of its path lead somewhere.
    there: usize,
    /// How many members each object has on the way to it, outermost first.
    members: Vec<usize>,
}

/// What a field was before a step wrote it. Empty where it was there and null.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct KeptField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<Value>,
    /// How many names of its path led somewhere, where it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    there: Option<usize>,
}

impl ObservedField {
    pub(super) fn of(object: &Value, field: &Path) -> Self {
        let (mut at, mut there, mut members) = (object, 0, Vec::new());
        for name in field.names() {
            let Some(inner) = at.as_object() else { break };
            members.push(inner.len());
            let Some(next) = inner.get(name.as_ref()).filter(|next| !next.is_null()) else { break };
            (at, there) = (next, there + 1);
        }
        let value = (there == field.len()).then(|| at.clone());
        Self { value, there, members }
    }

    /// One of which nothing but its own value matters: below objects that are there up to a name.
    pub(super) fn plain(value: Option<Value>, there: usize) -> Self {
        Self { value, there, members: Vec::new() }
    }

    /// Whether this is what it is: by value, since an API server writes a number as it likes.
    pub(super) fn is(&self, value: Option<&Value>) -> bool {
        match (&self.value, value) {
            (Some(one), Some(other)) => same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// Whether it is what it was before a step wrote it.
    pub(super) fn is_again(&self, kept: &KeptField) -> bool {
        self.is(kept.was.as_ref())
    }

    /// What undoing a write of it has to know.
    pub(super) fn kept(&self) -> KeptField {
        let there = self.value.is_none().then_some(self.there);
        KeptField { was: self.value.clone(), there }
    }
}

/// A JSON Patch that is being made, whose tests say what was seen.
#[derive(Default)]
pub(super) struct FieldPatch {
    operations: Vec<Value>,
    /// What it makes itself.
    made: Vec<Path>,
    /// What it takes away itself.
    gone: Vec<Path>,
}

impl FieldPatch {
    pub(super) fn new(uid: &str) -> Self {
        Self { operations: vec![test("/metadata/uid", json!(uid))], ..Self::default() }
    }

    pub(super) fn into_patch(self) -> Value {
        Value::Array(self.operations)
    }

    /// A field has to be what was seen of it.
    pub(super) fn expects(&mut self, field: &Path, seen: &ObservedField) {
        self.operations.extend(seen.value.clone().map(|was| test(&field_pointer(field), was)));
    }

    /// A field gets a value, or goes.
    pub(super) fn write(&mut self, field: &Path, seen: &ObservedField, value: Option<&Value>) {
        match (&seen.value, value) {
            (Some(was), Some(value)) => {
                let path = field_pointer(field);
                self.operations
                    .extend([test(&path, was.clone()), json!({"op": "replace", "path": path, "value": value})]);
            }
            (Some(was), None) => {
                let path = field_pointer(field);
                self.operations.extend([test(&path, was.clone()), json!({"op": "remove", "path": path})]);
            }
            (None, Some(value)) => self.make(field, seen.there, value),
            (None, None) => {}
        }
    }

    /// A field is put back to what it was, unless somebody else has written it since: `left` is what the step left
    /// there.
    pub(super) fn put_back(&mut self, field: &Path, seen: &ObservedField, left: Option<&Value>, kept: &KeptField) {
        if !seen.is(left) {
            return;
        }
        match (&kept.was, kept.there) {
            (Some(was), _) => self.write(field, seen, Some(was)),
            (None, Some(there)) if left.is_some() => self.take_away(field, seen, there),
            _ => {}
        }
    }

    /// A field with all that is missing above it.
    fn make(&mut self, field: &Path, there: usize, value: &Value) {
        let shared = self.made.iter().map(|made| made.common(field)).max().unwrap_or_default();
        let (outer, inner) = field.split_at(there.max(shared) + 1);
        let value = inner
            .names()
            .iter()
            .rev()
            .fold(value.clone(), |value, name| Value::Object(Map::from_iter([(name.to_string(), value)])));
        let path = field_pointer(&outer);
        self.operations.extend([test(&path, Value::Null), json!({"op": "add", "path": path, "value": value})]);
        self.made.push(field.clone());
    }

    /// A field that was not there, with what was made for it and holds nothing else.
    fn take_away(&mut self, field: &Path, seen: &ObservedField, there: usize) {
        let mut keeps = field.len();
        while keeps > there + 1 {
            let (holder, _) = field.split_at(keeps - 1);
            let gone = self.gone.iter().filter(|gone| gone.parent().as_ref() == Some(&holder)).count();
            if seen.members.get(keeps - 1).is_none_or(|members| members.saturating_sub(gone) > 1) {
                break;
            }
            keeps -= 1;
        }
        let (outer, inner) = field.split_at(keeps);
        let value = inner.names().iter().rev().fold(seen.value.clone().unwrap_or_default(), |value, name| {
            Value::Object(Map::from_iter([(name.to_string(), value)]))
        });
        let path = field_pointer(&outer);
        self.operations.extend([test(&path, value), json!({"op": "remove", "path": path})]);
        self.gone.push(outer);
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}
