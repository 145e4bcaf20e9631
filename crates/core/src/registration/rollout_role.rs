//! The ClusterRole of whoever runs a rollout: what that does, and nothing else.

use serde_json::{Value, json};

use super::document::{Component, metadata};
use crate::definition::Kind;
use crate::rollout::{OwnerReferences, Rollout, RolloutRights, rights, rights_elsewhere};

/// A `ClusterRole` with the rights that running a rollout takes. Where it asks something of other clusters, a second
/// one follows, for whoever the kubeconfigs in their Secrets name: it is for these clusters, and for none else.
#[must_use]
pub fn rollout_roles(rollout: &Rollout, kind: &Kind, owners: OwnerReferences) -> Vec<Value> {
    let own = role(&format!("pointsman-rollout.{}", rollout.name()), &rights(rollout, kind, owners));
    let elsewhere = rights_elsewhere(rollout);
    if elsewhere.is_empty() {
        return vec![own];
    }
    let mut other = role(&format!("pointsman-rollout-elsewhere.{}", rollout.name()), &elsewhere);
    if let Some(metadata) = other.get_mut("metadata").and_then(Value::as_object_mut) {
        let told = "for the other clusters: apply it there, and bind it to whom their kubeconfigs name";
        metadata.insert("annotations".to_owned(), json!({"pointsman.dev/apply": told}));
    }
    vec![own, other]
}

fn role(name: &str, rights: &RolloutRights) -> Value {
    let rules: Vec<Value> = rights
        .iter()
        .map(|((group, plural), verbs)| json!({"apiGroups": [group], "resources": [plural], "verbs": verbs}))
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": metadata(name, Component::Rollout), "rules": rules,
    })
}
