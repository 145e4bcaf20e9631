//! Other rolls over the same objects.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetObject, RollStatus, answered_roll};
use serde_json::Value;

use super::error::RollError;
use super::store::list_rolls;
use crate::cluster::Cluster;

/// Other rolls that are under way over some of these objects: their names, and the objects. A cluster that does not
/// know Rolls has none.
pub(super) async fn others(
    cluster: &Cluster,
    kind: &Kind,
    document: &Value,
    objects: &[FleetObject],
) -> Result<Vec<(String, Vec<String>)>, RollError> {
    let text = |document: &Value, path: &str| document.pointer(path).cloned();
    let is_same = |other: &Value, path: &str| text(other, path) == text(document, path);
    let mut others = Vec::new();
    let all = match list_rolls(cluster).await {
        Err(RollError::NoRolls) => Vec::new(),
        answer => answer?,
    };
    for other in all {
        if is_same(&other, "/metadata/name") || !is_same(&other, "/spec/kind") || !RollStatus::of(&other).is_active() {
            continue;
        }
        let Ok(roll) = answered_roll(&other, kind) else { continue };
        let shared = objects.iter().filter(|object| object.is_chosen_by(&roll));
        let shared: Vec<String> = shared.map(FleetObject::title).collect();
        if !shared.is_empty() {
            others.push((roll.name().to_owned(), shared));
        }
    }
    Ok(others)
}
