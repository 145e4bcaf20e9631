//! The patch that writes one object, by which no field manager loses what it owns.
//!
//! At each write the API server converts the object to the versions that its managedFields name. Where that fails, a
//! merge patch, a JSON patch and a PUT lose all entries in silence (kubernetes#136919, until 1.37). Server-side apply
//! fails instead, and stores nothing. A patch whose entries are all of the version of the request needs no conversion.

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use super::target::{Listed, ObjectChange};
use crate::cluster::PatchForm;
use crate::crd_state::CrdState;
use crate::ownership::{LAST_APPLIED, ObjectConversion, is_managed, last_applied_version, references_anew, translated};

/// Stores an object anew, as it is.
///
/// A server-side apply of no field, as Kubernetes' own migrator sends it (`storageversionmigrator`). It adds no entry,
/// since it owns nothing. An object of another uid, or one that is gone, is a conflict, and so it creates nothing. It
/// would give an object without entries one, `before-first-apply`: such an object is written by an empty merge patch,
/// and only as it was seen. Where it is of the storage version already, nothing is written at all.
pub(super) fn stored_anew(listed: &Listed, is_managed: bool, crd: &CrdState) -> (PatchForm, Value) {
    if !is_managed {
        return (PatchForm::Merge, json!({"metadata": {"uid": listed.uid, "resourceVersion": listed.version}}));
    }
    let mut metadata = json!({"name": listed.name, "uid": listed.uid});
    if let (Some(namespace), Some(members)) = (&listed.namespace, metadata.as_object_mut()) {
        members.insert("namespace".to_owned(), namespace.as_str().into());
    }
    let api_version = format!("{}/{}", crd.group(), crd.storage());
    (PatchForm::Apply, json!({"apiVersion": api_version, "kind": crd.kind(), "metadata": metadata}))
}

/// Takes an annotation off an object that names no other version, if it still says what it said and nobody has written
/// the object since.
pub(super) fn without(listed: &Listed, kept: Option<&(String, String)>) -> Value {
    let mut patch = vec![as_seen(&listed.version)];
    patch.extend(kept.into_iter().flat_map(|(key, text)| removal(key, text)));
    Value::Array(patch)
}

/// Translates what names another version: entries of managedFields, what client-side apply has noted, and references to
/// owners of the same kind.
pub(super) fn translation(
    listed: &Listed,
    object: &Value,
    crd: &CrdState,
    conversion: Option<&ObjectConversion>,
) -> Value {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let mut patch = vec![as_seen(version)];
    if let ObjectChange::Translated { kept: Some((key, text)), .. } = &listed.change {
        patch.extend(removal(key, text));
    }
    if is_managed(object) {
        let mut entries = translated(object, crd, conversion);
        if entries.is_empty() {
            // An empty list would say that they are to be made anew.
            entries.push(json!({}));
        }
        patch.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    }
    if let Some(applied) = applied_anew(object, crd, conversion) {
        let path = format!("/metadata/annotations/{}", pointer_token(LAST_APPLIED));
        patch.push(json!({"op": "replace", "path": path, "value": applied}));
    }
    patch.extend(references_anew(object, crd.group(), crd.kind(), crd.storage()));
    Value::Array(patch)
}

/// What client-side apply has noted, as it would have noted it of the storage version.
fn applied_anew(object: &Value, crd: &CrdState, conversion: Option<&ObjectConversion>) -> Option<String> {
    let noted = last_applied_version(object, crd.group()).filter(|version| version != crd.storage())?;
    let text = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    let applied: Value = serde_json::from_str(text).ok()?;
    let mut anew = match conversion {
        Some(conversion) => conversion.convert_part(&applied, crd.storage())?,
        // Without a definition nobody knows what its fields are called.
        None if crd.has_one_schema(&[&noted, crd.storage()]) => {
            let mut applied = applied;
            let version = format!("{}/{}", crd.group(), crd.storage());
            applied.as_object_mut()?.insert("apiVersion".to_owned(), version.into());
            applied
        }
        None => return None,
    };
    // What is kept is nothing that anybody has applied.
    if let Some(annotations) = anew.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with(crate::annotations::KEPT));
    }
    Some(format!("{anew}\n"))
}

fn removal(key: &str, text: &str) -> [Value; 2] {
    let place = format!("/metadata/annotations/{}", pointer_token(key));
    [json!({"op": "test", "path": place, "value": text}), json!({"op": "remove", "path": place})]
}

/// Nobody has written it since, or the API server answers with a conflict.
fn as_seen(version: &str) -> Value {
    json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
}
