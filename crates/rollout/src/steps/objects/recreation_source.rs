//! A Deployment before and after its recreation, and the state saved before the deletion.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::observed_object::{RECREATED, RESTORED, WORKFLOW_LABEL, text};

/// The saved state of a Deployment.
pub(in crate::steps) struct SavedDeployment<'a> {
    revision: &'a Value,
}

impl<'a> SavedDeployment<'a> {
    pub(in crate::steps) fn read(revision: &'a Value) -> Self {
        Self { revision }
    }

    /// The earlier uid of the Deployment.
    pub(in crate::steps) fn uid(&self) -> &'a str {
        text(self.revision, "/data/uid")
    }

    /// True if a Deployment is the saved one and unchanged, including labels and owner references, which do not affect
    /// the generation.
    pub(in crate::steps) fn is_of(&self, deployment: &Value) -> bool {
        self.uid() == text(deployment, "/metadata/uid") && *self.before() == old(deployment)
    }

    /// True if a Deployment has the content of the one to create.
    pub(in crate::steps) fn is_made(&self, deployment: &Value) -> bool {
        *self.made() == old(deployment)
    }

    /// The earlier manifest.
    pub(in crate::steps) fn before(&self) -> &'a Value {
        self.revision.pointer("/data/old").unwrap_or(&Value::Null)
    }

    /// The new manifest.
    pub(in crate::steps) fn made(&self) -> &'a Value {
        self.revision.pointer("/data/new").unwrap_or(&Value::Null)
    }
}

/// The saved object: both manifests, immutable.
pub(in crate::steps) fn saved(name: &str, uid: &str, deployment: &Value, selector: &BTreeMap<String, String>) -> Value {
    revision(name, uid, deployment, (&old(deployment), &new(deployment, selector)))
}

/// The saved object for a recreated Deployment without saved state: its earlier manifest is derived from the earlier
/// Pod selector.
pub(in crate::steps) fn saved_again(
    name: &str,
    uid: &str,
    deployment: &Value,
    was: &BTreeMap<String, String>,
) -> Value {
    let mut before = new(deployment, was);
    if let Some(annotations) = before.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(RECREATED);
    }
    revision(name, uid, deployment, (&before, &old(deployment)))
}

fn revision(name: &str, uid: &str, deployment: &Value, (old, new): (&Value, &Value)) -> Value {
    let metadata = |path: &str| deployment.pointer(path).cloned().unwrap_or_default();
    let data = json!({"uid": metadata("/metadata/uid"), "old": old, "new": new});
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": data,
        "metadata": {
            "name": name, "namespace": metadata("/metadata/namespace"), "labels": {WORKFLOW_LABEL: uid},
            "annotations": {"pointsman.dev/saved": format!("deployments.apps {}", text(deployment, "/metadata/name"))},
        },
    })
}

/// The deterministic name of the saved object.
pub(in crate::steps) fn revision_name(uid: &str, step: &str) -> String {
    let mut hash = Sha256::new();
    for part in [uid, step] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digits: String = hash.finalize().iter().take(DIGITS).map(|byte| format!("{byte:02x}")).collect();
    format!("pointsman-{digits}")
}

/// The labels of the Pod selector.
pub(in crate::steps) fn selector_of(deployment: &Value) -> Option<BTreeMap<String, String>> {
    let selector = deployment.pointer("/spec/selector").and_then(Value::as_object)?;
    if selector.get("matchExpressions").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
        return None;
    }
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    labels.map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned()))).collect()
}

/// The restored Deployment.
pub(in crate::steps) fn restored(saved: &SavedDeployment<'_>) -> Value {
    annotated(saved.before().clone(), RESTORED, saved.uid())
}

/// The manifest without server-set and controller-set members.
fn old(deployment: &Value) -> Value {
    let kept = |name: &str| deployment.get("metadata").and_then(|metadata| metadata.get(name)).cloned();
    let mut metadata = Map::new();
    for name in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        metadata.extend(kept(name).map(|value| (name.to_owned(), value)));
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        [REVISION, RECREATED, RESTORED].iter().for_each(|name| drop(annotations.remove(*name)));
    }
    let spec = deployment.get("spec").cloned().unwrap_or_default();
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
}

/// The new manifest, with new labels in place of the old selector's labels.
pub(in crate::steps) fn new(deployment: &Value, selector: &BTreeMap<String, String>) -> Value {
    let mut made = annotated(old(deployment), RECREATED, text(deployment, "/metadata/uid"));
    let before = selector_of(deployment).unwrap_or_default();
    for place in ["/metadata", "/spec/template/metadata"] {
        let Some(metadata) = made.pointer_mut(place).and_then(Value::as_object_mut) else { continue };
        let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut() else { continue };
        before.keys().for_each(|label| drop(labels.remove(label)));
        labels.extend(selector.iter().map(|(label, value)| (label.clone(), json!(value))));
    }
    if let Some(annotations) = made.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        // The applied configuration of the earlier object would be wrong here.
        annotations.remove(LAST_APPLIED);
    }
    if let Some(spec) = made.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("selector".to_owned(), json!({"matchLabels": selector}));
    }
    made
}

fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations.as_object_mut().into_iter().for_each(|all| drop(all.insert(name.to_owned(), json!(value))));
    }
    object
}

/// The revision number of the Deployment controller. Source: `kubernetes
/// pkg/controller/deployment/util/deployment_util.go`, `RevisionAnnotation`.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Source: `k8s.io/api core/v1/annotation_key_constants.go`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Bytes of the hash in a name.
const DIGITS: usize = 10;
