//! The ClusterRole of whoever runs a roll: what that does, and nothing else.

use serde_json::{Value, json};

use super::document::{Component, metadata};
use crate::definition::Kind;
use crate::roll::{FleetRoll, rights};

/// A `ClusterRole` with the rights that running a roll takes.
#[must_use]
pub fn roll_role(roll: &FleetRoll, kind: &Kind) -> Value {
    let rules: Vec<Value> = rights(roll, kind)
        .iter()
        .map(|((group, plural), verbs)| json!({"apiGroups": [group], "resources": [plural], "verbs": verbs}))
        .collect();
    let name = format!("pointsman-roll.{}", roll.name());
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": metadata(&name, Component::Roll), "rules": rules,
    })
}
