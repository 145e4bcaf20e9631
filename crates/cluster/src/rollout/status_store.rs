//! Reads and writes of StagedRollouts in the cluster.

use pointsman_core::did_you_mean;
use pointsman_rollout::documents::FreezeDocuments;
use pointsman_rollout::{ROLLOUT_MANAGER, RolloutStatus};
use serde_json::{Value, json};

use super::error::RolloutError;
use super::freeze::{apply_freeze, try_freeze};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::dry_run::DryRun;
use crate::pages::items;

const ROLLOUTS: &str = "/apis/pointsman.dev/v1/stagedrollouts";

/// Reads a StagedRollout.
///
/// # Errors
/// It does not exist, or the API call failed.
pub async fn get_rollout(cluster: &Cluster, name: &str) -> Result<Value, RolloutError> {
    match cluster.get(&format!("{ROLLOUTS}/{name}")).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Lists all StagedRollouts.
///
/// # Errors
/// The CRD is not installed, or the API call failed.
pub async fn list_rollouts(cluster: &Cluster) -> Result<Vec<Value>, RolloutError> {
    match cluster.get(ROLLOUTS).await {
        Ok(list) => Ok(items(&list).cloned().collect()),
        Err(error) if error.code() == Some(404) => Err(RolloutError::NoRollouts),
        Err(error) => Err(error.into()),
    }
}

/// Applies a StagedRollout after its freeze policy, and returns the stored object.
///
/// # Errors
/// The API server refuses it.
pub async fn start_rollout(
    cluster: &Cluster,
    document: &Value,
    freeze: Option<&FreezeDocuments>,
    dry_run: Option<DryRun>,
) -> Result<Value, RolloutError> {
    list_rollouts(cluster).await?;
    let Some(freeze) = freeze.filter(|_| dry_run != Some(DryRun::Client)) else {
        return Ok(match dry_run {
            Some(DryRun::Client) => document.clone(),
            Some(DryRun::Server) => cluster.try_apply(document, false).await?,
            None => cluster.apply(document, false).await?,
        });
    };
    // A refused rollout must leave no policy behind.
    let judged = cluster.try_apply(document, false).await?;
    if dry_run == Some(DryRun::Server) {
        try_freeze(cluster, freeze).await?;
        return Ok(judged);
    }
    apply_freeze(cluster, freeze).await?;
    Ok(cluster.apply(document, false).await?)
}

/// Sets members of the spec of a StagedRollout.
///
/// # Errors
/// It does not exist, or the API server refuses the patch.
pub async fn set_in_rollout(cluster: &Cluster, name: &str, members: &Value) -> Result<Value, RolloutError> {
    let patch = json!({"spec": members});
    match cluster.patch(&format!("{ROLLOUTS}/{name}"), PatchForm::Merge, &patch, Extent::Objects).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Changes the direction of a StagedRollout to forward. Writes the status first: from then on the spec alone determines
/// the direction.
///
/// # Errors
/// It does not exist, or the API server refuses a write.
pub async fn forward_again(cluster: &Cluster, name: &str) -> Result<Value, RolloutError> {
    let document = get_rollout(cluster, name).await?;
    if RolloutStatus::of(&document).undo_all {
        let change = &|_: &Value, status: &mut RolloutStatus| {
            status.forget_back_all();
            Ok(())
        };
        change_rollout(cluster, name, change).await?;
    }
    set_in_rollout(cluster, name, &json!({"direction": "Forward", "paused": false})).await
}

/// Sets the prioritized objects, if unchanged since the StagedRollout was read. Concurrent status writes are allowed.
///
/// # Errors
/// A concurrent change, a missing StagedRollout, or the API server refuses the patch.
pub async fn set_next(cluster: &Cluster, document: &Value, next: &[String]) -> Result<Value, RolloutError> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": document.pointer("/metadata/uid")},
        {"op": "test", "path": "/spec/prioritizedObjects", "value": document.pointer("/spec/prioritizedObjects")},
        {"op": "add", "path": "/spec/prioritizedObjects", "value": next},
    ]);
    match cluster.patch(&format!("{ROLLOUTS}/{name}"), PatchForm::Json, &patch, Extent::Objects).await {
        Ok(document) => Ok(document),
        Err(error) if error.is_stale() => Err(RolloutError::Raced(name.to_owned())),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Changes the status of a StagedRollout, also during a run.
///
/// # Errors
/// The error of `change`; a missing StagedRollout; or the API server refuses the write.
pub async fn change_rollout(
    cluster: &Cluster,
    name: &str,
    change: &dyn Fn(&Value, &mut RolloutStatus) -> Result<(), String>,
) -> Result<Value, RolloutError> {
    for _ in 0..TRIES {
        let document = get_rollout(cluster, name).await?;
        let mut status = RolloutStatus::of(&document);
        change(&document, &mut status).map_err(RolloutError::Invalid)?;
        match put_status(cluster, &document, &status).await {
            Err(error) if error.code() == Some(409) => {}
            answer => return Ok(answer?),
        }
    }
    Err(RolloutError::Raced(name.to_owned()))
}

/// Writes the status of a StagedRollout, if unchanged since it was read.
pub(super) async fn put_status(
    cluster: &Cluster,
    document: &Value,
    status: &RolloutStatus,
) -> Result<Value, CallError> {
    let mut next = document.clone();
    if let Some(members) = next.as_object_mut() {
        members.insert("status".to_owned(), status.to_json());
    }
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    cluster.put(&format!("{ROLLOUTS}/{name}/status?fieldManager={ROLLOUT_MANAGER}"), &next).await
}

/// The error for a missing StagedRollout.
async fn missing(cluster: &Cluster, error: CallError, name: &str) -> RolloutError {
    if error.code() != Some(404) {
        return error.into();
    }
    match list_rollouts(cluster).await {
        Err(RolloutError::NoRollouts) => RolloutError::NoRollouts,
        // Without permission to list, the error has no suggestion.
        listed => {
            let all = listed.unwrap_or_default();
            let names = all.iter().filter_map(|rollout| rollout.pointer("/metadata/name")?.as_str());
            RolloutError::NoRollout { name: name.to_owned(), meant: did_you_mean(name, names) }
        }
    }
}

/// The runner writes a few times per second at most.
const TRIES: u16 = 10;
