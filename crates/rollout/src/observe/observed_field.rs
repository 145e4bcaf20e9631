//! Observed fields that a step writes, and JSON Patches (RFC 6902) with preconditions on observed fields.

use pointsman_core::definition::Path;
use pointsman_core::json::pointer_token;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An observed field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ObservedField {
    value: Option<Value>,
    /// The number of existing names in its path.
    there: usize,
    /// The number of members of each parent, outermost first.
    members: Vec<usize>,
}

/// A field before a step wrote it. Empty if it was null.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct KeptField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<Value>,
    /// If it was missing: the number of existing names in its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    there: Option<usize>,
}

impl ObservedField {
    pub(crate) fn of(object: &Value, field: &Path) -> Self {
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

    /// A field of which only the value matters, below `there` existing names.
    pub(crate) fn plain(value: Option<Value>, there: usize) -> Self {
        Self { value, there, members: Vec::new() }
    }

    /// True if the field has this value. Compares numbers by value, since an API server may format them differently.
    pub(crate) fn is(&self, value: Option<&Value>) -> bool {
        match (&self.value, value) {
            (Some(one), Some(other)) => same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// True if the field has its earlier value.
    pub(crate) fn is_again(&self, kept: &KeptField) -> bool {
        self.is(kept.was.as_ref())
    }

    /// The state that a revert needs.
    pub(crate) fn kept(&self) -> KeptField {
        let there = self.value.is_none().then_some(self.there);
        KeptField { was: self.value.clone(), there }
    }
}

/// A JSON Patch under construction, with preconditions on the observed state.
#[derive(Default)]
pub(crate) struct FieldPatch {
    operations: Vec<Value>,
    /// Paths created by the patch.
    made: Vec<Path>,
    /// Paths removed by the patch.
    removed: Vec<Path>,
}

impl FieldPatch {
    pub(crate) fn new(uid: &str) -> Self {
        Self { operations: vec![test("/metadata/uid", json!(uid))], ..Self::default() }
    }

    pub(crate) fn into_patch(self) -> Value {
        Value::Array(self.operations)
    }

    /// Adds the precondition that a field is unchanged.
    pub(crate) fn expects(&mut self, field: &Path, seen: &ObservedField) {
        self.operations.extend(seen.value.clone().map(|was| test(&field_pointer(field), was)));
    }

    /// Sets or removes a field.
    pub(crate) fn write(&mut self, field: &Path, seen: &ObservedField, value: Option<&Value>) {
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

    /// Restores a field unless another client changed it: `left` is the value that the step wrote.
    pub(crate) fn put_back(&mut self, field: &Path, seen: &ObservedField, left: Option<&Value>, kept: &KeptField) {
        if !seen.is(left) {
            return;
        }
        match (&kept.was, kept.there) {
            (Some(was), _) => self.write(field, seen, Some(was)),
            (None, Some(there)) if left.is_some() => self.take_away(field, seen, there),
            _ => {}
        }
    }

    /// Adds a field with its missing parents.
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

    /// Removes a field that was missing, with created parents that are empty otherwise.
    fn take_away(&mut self, field: &Path, seen: &ObservedField, there: usize) {
        let mut keeps = field.len();
        while keeps > there + 1 {
            let (holder, _) = field.split_at(keeps - 1);
            let removed = self.removed.iter().filter(|removed| removed.parent().as_ref() == Some(&holder)).count();
            if seen.members.get(keeps - 1).is_none_or(|members| members.saturating_sub(removed) > 1) {
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
        self.removed.push(outer);
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

/// A precondition: the path has this value; null if absent.
pub(crate) fn test(path: &str, value: Value) -> Value {
    json!({"op": "test", "path": path, "value": value})
}

/// The pointer of a field.
pub(crate) fn field_pointer(path: &Path) -> String {
    path.names().iter().map(|name| format!("/{}", pointer_token(name))).collect()
}

/// The pointer of a label or annotation.
pub(crate) fn pointer(place: &str, name: &str) -> String {
    format!("/metadata/{place}/{}", pointer_token(name))
}

/// True if an object already equals the result of a patch, so the write succeeded or is unnecessary. `None` if the
/// content cannot prove this: the patch removes or appends a list item. Operations on `managedFields` only test its
/// length.
#[must_use]
pub fn is_patched(patch: &Value, object: &Value) -> Option<bool> {
    let is_of_managers =
        |one: &Value| one.get("path").and_then(Value::as_str).is_some_and(|path| path.starts_with(MANAGED_FIELDS));
    let is_write = |one: &&Value| one.get("op") != Some(&json!("test")) && !is_of_managers(one);
    let writes = patch.as_array()?.iter().filter(is_write);
    writes.map(|one| is_done(one, object)).try_fold(true, |all, one| one.map(|one| all && one))
}

fn is_done(one: &Value, object: &Value) -> Option<bool> {
    let path = one.get("path")?.as_str()?;
    let (parent, name) = path.rsplit_once('/')?;
    let there = object.pointer(path);
    match one.get("op")?.as_str()? {
        "add" | "replace" if name != "-" => Some(there.is_some_and(|there| contains(there, one.get("value")))),
        "remove" if !object.pointer(parent).is_some_and(Value::is_array) => Some(there.is_none()),
        _ => None,
    }
}

/// True if all of it exists, with optional additions.
fn contains(there: &Value, wanted: Option<&Value>) -> bool {
    match (there, wanted) {
        (Value::Object(there), Some(Value::Object(wanted))) => {
            wanted.iter().all(|(name, value)| there.get(name).is_some_and(|there| contains(there, Some(value))))
        }
        (there, wanted) => Some(there) == wanted,
    }
}

/// The uid precondition of a patch.
#[must_use]
pub fn patched_uid(patch: &Value) -> Option<&str> {
    let tests = patch.as_array()?.iter().filter(|one| one.get("op") == Some(&json!("test")));
    tests.filter(|one| one.get("path") == Some(&json!("/metadata/uid"))).find_map(|one| one.get("value")?.as_str())
}

/// The pointer of the field manager entries.
pub(crate) const MANAGED_FIELDS: &str = "/metadata/managedFields";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applied_patch_counts_as_written() {
        let add = |path: &str, value: Value| json!([test("/metadata/uid", json!("u")), {"op": "add", "path": path, "value": value}]);
        let remove = |path: &str| json!([{"op": "remove", "path": path}]);
        let owners = json!([{"uid": "p", "kind": "P"}, {"uid": "q"}]);
        let object =
            json!({"metadata": {"uid": "u", "annotations": {"a/b": "x", "c": "y"}, "ownerReferences": owners}});
        for (patch, expected) in [
            (add("/metadata/annotations/a~1b", json!("x")), Some(true)),
            (add("/metadata/annotations/a~1b", json!("z")), Some(false)),
            (add("/metadata/annotations", json!({"c": "y"})), Some(true)),
            (add("/metadata/annotations", json!({"c": "y", "d": ""})), Some(false)),
            (add("/metadata/ownerReferences/0", json!({"uid": "p"})), Some(true)),
            (add("/metadata/ownerReferences/1", json!({"uid": "p"})), Some(false)),
            (add("/metadata/ownerReferences/-", json!({"uid": "p"})), None),
            (remove("/metadata/labels/a"), Some(true)),
            (remove("/metadata/annotations/c"), Some(false)),
            (remove("/metadata/ownerReferences/1"), None),
            (json!([test("/metadata/uid", json!("v"))]), Some(true)),
            (add("/metadata/managedFields/-", json!({"manager": "m"})), Some(true)),
            (remove("/metadata/managedFields/0"), Some(true)),
        ] {
            assert_eq!(is_patched(&patch, &object), expected, "{patch}");
        }
        assert_eq!(patched_uid(&add("/metadata", json!({}))), Some("u"));
        assert_eq!(patched_uid(&remove("/metadata/uid")), None);
    }
}
