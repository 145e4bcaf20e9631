//! Parts of JSON Patches (RFC 6902) and pointers into objects (RFC 6901).

use serde_json::{Value, json};

use pointsman_core::definition::Path;
use pointsman_core::json::pointer_token;

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
