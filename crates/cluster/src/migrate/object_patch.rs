//! The patch that writes one object and preserves field ownership.
//!
//! At each write the API server converts the object to the versions in its managedFields. If that fails, merge patch,
//! JSON patch and PUT silently lose all entries (kubernetes#136919, until 1.37). Server-side apply fails instead, and
//! leaves the object unchanged. A patch with entries of the request's version alone needs no conversion.

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use super::target::{Listed, ObjectChange};
use crate::cluster::PatchForm;
use crate::crd_state::CrdState;
use crate::ownership::{
    LAST_APPLIED, ObjectConversion, is_managed, last_applied_version, translated, updated_references,
};

/// Stores an object again, unchanged.
///
/// A server-side apply without fields, as in Kubernetes' own migrator (`storageversionmigrator`). It adds no entry,
/// since it owns no fields, and never creates an object: a different or missing uid is a conflict. On an object without
/// entries it would add `before-first-apply`; such an object gets an empty merge patch with a resourceVersion instead.
/// If the object is in the storage version already, the write is a no-op.
pub(super) fn store_again(listed: &Listed, is_managed: bool, crd: &CrdState) -> (PatchForm, Value) {
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

/// Removes an annotation from an object without references to other versions, if annotation and object are unchanged.
pub(super) fn without(listed: &Listed, kept: Option<&(String, String)>) -> Value {
    let mut patch = vec![as_seen(&listed.version)];
    patch.extend(kept.into_iter().flat_map(|(key, text)| removal(key, text)));
    Value::Array(patch)
}

/// Translates references to other versions: managedFields entries, the client-side apply annotation, and owner
/// references of the same kind.
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
            // An empty list would reset managedFields.
            entries.push(json!({}));
        }
        patch.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}));
    }
    if let Some(applied) = translated_last_applied(object, crd, conversion) {
        let path = format!("/metadata/annotations/{}", pointer_token(LAST_APPLIED));
        patch.push(json!({"op": "replace", "path": path, "value": applied}));
    }
    patch.extend(updated_references(object, crd.group(), crd.kind(), crd.storage()));
    Value::Array(patch)
}

/// The client-side apply annotation, translated to the storage version.
fn translated_last_applied(object: &Value, crd: &CrdState, conversion: Option<&ObjectConversion>) -> Option<String> {
    let noted = last_applied_version(object, crd.group()).filter(|version| version != crd.storage())?;
    let text = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    let applied: Value = serde_json::from_str(text).ok()?;
    let mut converted = match conversion {
        Some(conversion) => conversion.convert_part(&applied, crd.storage())?,
        // Without a definition, field names cannot be translated.
        None if crd.has_one_schema(&[&noted, crd.storage()]) => {
            let mut applied = applied;
            let version = format!("{}/{}", crd.group(), crd.storage());
            applied.as_object_mut()?.insert("apiVersion".to_owned(), version.into());
            applied
        }
        None => return None,
    };
    // Kept annotations are never applied by clients.
    if let Some(annotations) = converted.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with(crate::annotations::KEPT));
    }
    Some(format!("{converted}\n"))
}

fn removal(key: &str, text: &str) -> [Value; 2] {
    let place = format!("/metadata/annotations/{}", pointer_token(key));
    [json!({"op": "test", "path": place, "value": text}), json!({"op": "remove", "path": place})]
}

/// A precondition: the object is unchanged, otherwise the API server returns a conflict.
fn as_seen(version: &str) -> Value {
    json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
}
