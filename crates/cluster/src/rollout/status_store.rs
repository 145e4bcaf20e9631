//! StagedRollouts as they are in the cluster.

use pointsman_core::did_you_mean;
use pointsman_core::registration::FreezeDocuments;
use pointsman_core::rollout::{ROLLOUT_MANAGER, RolloutStatus};
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
/// There is none, or the cluster cannot be asked.
pub async fn get_rollout(cluster: &Cluster, name: &str) -> Result<Value, RolloutError> {
    match cluster.get(&format!("{ROLLOUTS}/{name}")).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Reads all StagedRollouts.
///
/// # Errors
/// The cluster does not know StagedRollouts, or cannot be asked.
pub async fn list_rollouts(cluster: &Cluster) -> Result<Vec<Value>, RolloutError> {
    match cluster.get(ROLLOUTS).await {
        Ok(list) => Ok(items(&list).cloned().collect()),
        Err(error) if error.code() == Some(404) => Err(RolloutError::NoRollouts),
        Err(error) => Err(error.into()),
    }
}

/// Applies a StagedRollout, with what freezes what it names in force before it, and returns it as it is then.
///
/// # Errors
/// The API server says no.
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
    // One that is refused is to leave nothing behind.
    let judged = cluster.try_apply(document, false).await?;
    if dry_run == Some(DryRun::Server) {
        try_freeze(cluster, freeze).await?;
        return Ok(judged);
    }
    apply_freeze(cluster, freeze).await?;
    Ok(cluster.apply(document, false).await?)
}

/// Sets members of a StagedRollout's spec.
///
/// # Errors
/// There is none, or the API server says no.
pub async fn set_in_rollout(cluster: &Cluster, name: &str, members: &Value) -> Result<Value, RolloutError> {
    let patch = json!({"spec": members});
    match cluster.patch(&format!("{ROLLOUTS}/{name}"), PatchForm::Merge, &patch, Extent::Objects).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Sends a StagedRollout forward again that went another way, and is applied anew. The status first: the spec alone
/// decides as long as the rollout goes where the spec says.
///
/// # Errors
/// There is none, or the API server says no.
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

/// Sets which objects go next, if nobody else did since the StagedRollout was read. Its status may have been written
/// meanwhile.
///
/// # Errors
/// Somebody else did, there is no such StagedRollout, or the API server says no.
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

/// Changes a StagedRollout's status, also while somebody runs it.
///
/// # Errors
/// What `change` says; there is no such StagedRollout; or the API server says no.
pub async fn change_rollout(
    cluster: &Cluster,
    name: &str,
    change: &dyn Fn(&Value, &mut RolloutStatus) -> Result<(), String>,
) -> Result<Value, RolloutError> {
    for _ in 0..TRIES {
        let document = get_rollout(cluster, name).await?;
        let mut status = RolloutStatus::of(&document);
        change(&document, &mut status).map_err(RolloutError::Asked)?;
        match put_status(cluster, &document, &status).await {
            Err(error) if error.code() == Some(409) => {}
            answer => return Ok(answer?),
        }
    }
    Err(RolloutError::Raced(name.to_owned()))
}

/// Writes the status of a StagedRollout, if it is still the one that was read.
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

/// What it means that a StagedRollout is not there.
async fn missing(cluster: &Cluster, error: CallError, name: &str) -> RolloutError {
    if error.code() != Some(404) {
        return error.into();
    }
    match list_rollouts(cluster).await {
        Err(RolloutError::NoRollouts) => RolloutError::NoRollouts,
        // Whoever may not list them is not told what was meant.
        listed => {
            let all = listed.unwrap_or_default();
            let names = all.iter().filter_map(|rollout| rollout.pointer("/metadata/name")?.as_str());
            RolloutError::NoRollout { name: name.to_owned(), meant: did_you_mean(name, names) }
        }
    }
}

/// Whoever runs it writes a few times a second at most.
const TRIES: u16 = 10;
