//! Other rollouts over the same objects.

use pointsman_core::definition::Kind;
use pointsman_rollout::{FleetObject, RolloutStatus, answered_rollout};
use serde_json::Value;

use super::error::RolloutError;
use super::status_store::list_rollouts;
use crate::cluster::Cluster;

/// Active rollouts over some of these objects: names and objects. Empty if the CRD is not installed.
pub(super) async fn others<'o>(
    cluster: &Cluster,
    kind: &Kind,
    document: &Value,
    objects: impl Iterator<Item = &'o FleetObject> + Clone,
) -> Result<Vec<(String, Vec<String>)>, RolloutError> {
    let name = |document: &Value| document.pointer("/metadata/name").cloned();
    // Each may use another name of the kind.
    let of = |other: &Value| other.pointer("/spec/kind").and_then(Value::as_str).is_some_and(|of| kind.is_called(of));
    let mut others = Vec::new();
    let own = answered_rollout(document, kind).ok();
    let all = match list_rollouts(cluster).await {
        Err(RolloutError::NoRollouts) => Vec::new(),
        answer => answer?,
    };
    for other in all {
        if name(&other) == name(document) || !of(&other) || !RolloutStatus::of(&other).is_active() {
            continue;
        }
        let Ok(rollout) = answered_rollout(&other, kind) else { continue };
        if own.as_ref().is_some_and(|own| own.source() != rollout.source()) {
            // One selects objects of the kind, and the other objects of its source kind.
            continue;
        }
        // Held objects that are no longer selected are excluded: this rollout releases them.
        let is_own = |object: &&FleetObject| own.as_ref().is_none_or(|own| object.is_chosen_by(own));
        let shared = objects.clone().filter(is_own).filter(|object| object.is_chosen_by(&rollout));
        let shared: Vec<String> = shared.map(FleetObject::title).collect();
        if !shared.is_empty() {
            others.push((rollout.name().to_owned(), shared));
        }
    }
    Ok(others)
}
