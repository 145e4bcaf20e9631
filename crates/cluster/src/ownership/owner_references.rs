//! Owner references of objects to owners of their own kind.
//!
//! The garbage collector queries an owner in the version of the reference. If that version was removed, it keeps the
//! object after its owner. Objects of other kinds are not listed here.

use serde_json::{Value, json};

/// The versions in owner references to this group and kind, without duplicates.
pub(crate) fn owner_versions<'o>(object: &'o Value, group: &str, kind: &str) -> Vec<&'o str> {
    let mut versions: Vec<&str> = references(object).filter_map(|(_, one)| version_of(one, group, kind)).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// JSON patch operations that change references at other versions of this kind to this version.
pub(crate) fn updated_references(object: &Value, group: &str, kind: &str, version: &str) -> Vec<Value> {
    let others =
        references(object).filter(|(_, one)| version_of(one, group, kind).is_some_and(|found| found != version));
    let patch = others.flat_map(|(at, one)| {
        let path = format!("/metadata/ownerReferences/{at}");
        [
            json!({"op": "test", "path": path, "value": one}),
            json!({"op": "replace", "path": format!("{path}/apiVersion"), "value": format!("{group}/{version}")}),
        ]
    });
    patch.collect()
}

fn references(object: &Value) -> impl Iterator<Item = (usize, &Value)> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn version_of<'r>(reference: &'r Value, group: &str, kind: &str) -> Option<&'r str> {
    let version = reference.get("apiVersion")?.as_str()?.strip_prefix(group)?.strip_prefix('/')?;
    (reference.get("kind")?.as_str()? == kind).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_own_kind_are_renamed() {
        let reference = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "uid": version});
        let object = json!({"metadata": {"ownerReferences": [
            reference("e.com/v1", "W"), reference("e.com/v2", "W"), reference("e.com/v1", "Other"), reference("v1", "Pod"),
        ]}});
        assert_eq!(owner_versions(&object, "e.com", "W"), ["v1", "v2"]);
        let patch = updated_references(&object, "e.com", "W", "v2");
        assert_eq!(patch.len(), 2, "{patch:?}");
        let path = "/metadata/ownerReferences/0/apiVersion";
        assert_eq!(patch[1], json!({"op": "replace", "path": path, "value": "e.com/v2"}));
        assert!(updated_references(&json!({"metadata": {}}), "e.com", "W", "v2").is_empty());
    }
}
