//! Other rolls over the same objects.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetObject, RollStatus, answered_roll};
use serde_json::Value;

use super::error::RollError;
use super::store::list_rolls;
use crate::cluster::Cluster;

/// Other rolls that are under way over some of these objects: their names, and the objects. A cluster that does not
/// know Rolls has none.
pub(super) async fn others<'o>(
    cluster: &Cluster,
    kind: &Kind,
    document: &Value,
    objects: impl Iterator<Item = &'o FleetObject> + Clone,
) -> Result<Vec<(String, Vec<String>)>, RollError> {
    let name = |document: &Value| document.pointer("/metadata/name").cloned();
    // Each may call the kind by another of its names.
    let of = |other: &Value| other.pointer("/spec/kind").and_then(Value::as_str).is_some_and(|of| kind.is_called(of));
    let mut others = Vec::new();
    let own = answered_roll(document, kind).ok();
    let all = match list_rolls(cluster).await {
        Err(RollError::NoRolls) => Vec::new(),
        answer => answer?,
    };
    for other in all {
        if name(&other) == name(document) || !of(&other) || !RollStatus::of(&other).is_active() {
            continue;
        }
        let Ok(roll) = answered_roll(&other, kind) else { continue };
        if own.as_ref().is_some_and(|own| own.source() != roll.source()) {
            // One is about objects of the kind, and the other about those that become such ones.
            continue;
        }
        // One that is only held still, and not chosen, is let go.
        let is_own = |object: &&FleetObject| own.as_ref().is_none_or(|own| object.is_chosen_by(own));
        let shared = objects.clone().filter(is_own).filter(|object| object.is_chosen_by(&roll));
        let shared: Vec<String> = shared.map(FleetObject::title).collect();
        if !shared.is_empty() {
            others.push((roll.name().to_owned(), shared));
        }
    }
    Ok(others)
}
