//! Proof that no object needs a conversion: point it at an unreachable webhook, and list everything.
//!
//! People edit `status.storedVersions`, so it is no proof. With strategy None, an object of another version would be
//! relabelled silently, and lose fields at the next write. With an unreachable webhook the read fails instead, without
//! data loss, and the change can be reverted.

use std::collections::BTreeMap;

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use crate::annotations::{DISABLING, kept_versions};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::conversion::ClientStanza;
use crate::crd_state::CrdState;
use crate::ownership::VersionCounts;
use crate::pages::{Pages, items};

use super::options::DisableEvent;

/// The result of a list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ListResult {
    pub(super) objects: u64,
    /// Objects with a kept annotation, by version of the annotation.
    pub(super) kept: BTreeMap<String, u64>,
    /// Objects that refer to a version, by version.
    pub(super) named: VersionCounts,
}

/// Lists every object in a version.
pub(super) async fn list_all(
    cluster: &Cluster,
    crd: &CrdState,
    version: &str,
    size: u32,
    report: &mut dyn FnMut(DisableEvent),
) -> Result<ListResult, CallError> {
    let mut listed = ListResult::default();
    let mut waits = |error, pause| report(DisableEvent::Trying { error, pause });
    let mut take = |list| {
        for item in items(&list) {
            listed.objects += 1;
            listed.named.add(item, crd.group(), crd.kind());
            for version in kept_versions(item) {
                *listed.kept.entry(version.to_owned()).or_default() += 1;
            }
        }
    };
    Pages::new(cluster, crd.collection(version), Extent::MetadataOfAll, size).all(&mut waits, &mut take).await?;
    listed.named = listed.named.without(&[version]);
    Ok(listed)
}

/// True if an earlier run pointed the conversion at the unreachable webhook.
pub(crate) fn leads_nowhere(crd: &CrdState) -> bool {
    crd.document().pointer("/spec/conversion/webhook/clientConfig/url").and_then(Value::as_str) == Some(NOWHERE)
}

/// A JSON patch that points the conversion at an unreachable webhook, and records the earlier one on the CRD.
pub(super) fn to_nowhere(crd: &CrdState) -> Vec<Value> {
    let before = crd.document().pointer("/spec/conversion").cloned().unwrap_or_default();
    let client = json!({"url": NOWHERE});
    let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": client});
    let mut patch = Vec::new();
    if crd.document().pointer("/metadata/annotations").is_none() {
        patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {}}));
    }
    patch.push(json!({"op": "add", "path": annotation(DISABLING), "value": before.to_string()}));
    patch.push(
        json!({"op": "replace", "path": "/spec/conversion", "value": {"strategy": "Webhook", "webhook": webhook}}),
    );
    patch
}

/// A JSON patch that restores the earlier conversion.
pub(super) fn back(crd: &CrdState) -> Option<Vec<Value>> {
    let before: Value = serde_json::from_str(crd.annotation(DISABLING)?).ok()?;
    ClientStanza::of(&json!({"spec": {"conversion": &before}}))?;
    Some(vec![
        json!({"op": "replace", "path": "/spec/conversion", "value": before}),
        json!({"op": "remove", "path": annotation(DISABLING)}),
    ])
}

/// A JSON patch that removes the conversion and its injectors.
pub(super) fn away(crd: &CrdState) -> Vec<Value> {
    let mut patch = vec![json!({"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}})];
    let there = [DISABLING, INJECTED].into_iter().filter(|name| crd.annotation(name).is_some());
    patch.extend(there.map(|name| json!({"op": "remove", "path": annotation(name)})));
    patch
}

fn annotation(name: &str) -> String {
    format!("/metadata/annotations/{}", pointer_token(name))
}

/// A closed port on the API server's own machine: refused at once, without DNS.
const NOWHERE: &str = "https://127.0.0.1:1/disabling";

/// The annotation by which cert-manager writes an authority into the CRD.
const INJECTED: &str = "cert-manager.io/inject-ca-from";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumed_disable_finds_original_target() {
        let version = json!({"name": "v1", "served": true, "storage": true});
        let config = json!({"service": {"namespace": "n", "name": "s", "path": "/convert"}, "caBundle": "Cg=="});
        let conversion = json!({"strategy": "Webhook", "webhook": {"clientConfig": config}});
        let document = |conversion: &Value, annotations: Value| {
            CrdState::new(json!({
                "metadata": {"name": "ws.e.com", "annotations": annotations},
                "spec": {
                    "group": "e.com", "names": {"plural": "ws"}, "versions": [version], "conversion": conversion,
                },
            }))
            .unwrap()
        };
        let enabled = document(&conversion, json!({}));
        assert!(!leads_nowhere(&enabled) && back(&enabled).is_none());
        let patch = to_nowhere(&enabled);
        let value = |path: &str| patch.iter().find(|one| one["path"] == path).unwrap()["value"].clone();
        let left = json!({DISABLING: value(&annotation(DISABLING)), INJECTED: "n/c"});
        let nowhere = document(&value("/spec/conversion"), left);
        assert!(leads_nowhere(&nowhere));
        assert_eq!(back(&nowhere).unwrap()[0]["value"], conversion);
        let removed: Vec<Value> = away(&nowhere).iter().map(|one| one["path"].clone()).collect();
        assert_eq!(removed, ["/spec/conversion", &annotation(DISABLING), &annotation(INJECTED)]);
        let strange = document(&value("/spec/conversion"), json!({DISABLING: "{\"strategy\":\"None\"}"}));
        assert!(back(&strange).is_none(), "that would be what is to be prevented");
    }
}
