//! The ClusterRole of a runner with exactly the required rights.

use serde_json::{Value, json};

use super::super::rights::{RolloutRights, rights, rights_elsewhere};
use crate::spec::rollout::{OwnerReferences, Rollout};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{Component, metadata};

/// A `ClusterRole` with the rights of a runner. If the rollout accesses other clusters, a second role for those
/// clusters follows, for the users in the kubeconfigs of their Secrets.
#[must_use]
pub fn rollout_roles(rollout: &Rollout, kind: &Kind, owners: OwnerReferences) -> Vec<Value> {
    let own = role(&format!("pointsman-rollout.{}", rollout.name()), &rights(rollout, kind, owners));
    let elsewhere = rights_elsewhere(rollout);
    if elsewhere.is_empty() {
        return vec![own];
    }
    let mut other = role(&format!("pointsman-rollout-elsewhere.{}", rollout.name()), &elsewhere);
    if let Some(metadata) = other.get_mut("metadata").and_then(Value::as_object_mut) {
        let apply_hint =
            "for the other clusters: apply this role there, and bind the role to the users of their kubeconfigs";
        metadata.insert("annotations".to_owned(), json!({"pointsman.dev/apply": apply_hint}));
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
