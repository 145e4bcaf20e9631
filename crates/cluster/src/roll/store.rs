//! Rolls as they are in the cluster.

use pointsman_core::did_you_mean;
use pointsman_core::registration::FreezeDocuments;
use pointsman_core::roll::{ROLL_MANAGER, RollStatus};
use serde_json::{Value, json};

use super::error::RollError;
use super::freeze::{apply_freeze, try_freeze};
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::dry_run::DryRun;
use crate::pages::items;

const ROLLS: &str = "/apis/pointsman.dev/v1/rolls";

/// Reads a Roll.
///
/// # Errors
/// There is none, or the cluster cannot be asked.
pub async fn get_roll(cluster: &Cluster, name: &str) -> Result<Value, RollError> {
    match cluster.get(&format!("{ROLLS}/{name}")).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Reads all Rolls.
///
/// # Errors
/// The cluster does not know Rolls, or cannot be asked.
pub async fn list_rolls(cluster: &Cluster) -> Result<Vec<Value>, RollError> {
    match cluster.get(ROLLS).await {
        Ok(list) => Ok(items(&list).cloned().collect()),
        Err(error) if error.code() == Some(404) => Err(RollError::NoRolls),
        Err(error) => Err(error.into()),
    }
}

/// Applies a Roll, with what freezes what it names in force before it, and returns it as it is then.
///
/// # Errors
/// The API server says no.
pub async fn start_roll(
    cluster: &Cluster,
    document: &Value,
    freeze: Option<&FreezeDocuments>,
    dry_run: Option<DryRun>,
) -> Result<Value, RollError> {
    list_rolls(cluster).await?;
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

/// Sets members of a Roll's spec.
///
/// # Errors
/// There is none, or the API server says no.
pub async fn set_in_roll(cluster: &Cluster, name: &str, members: &Value) -> Result<Value, RollError> {
    let patch = json!({"spec": members});
    match cluster.patch(&format!("{ROLLS}/{name}"), PatchForm::Merge, &patch, Extent::Objects).await {
        Ok(document) => Ok(document),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Sends a Roll forward again that went another way, and is applied anew. The status first: the spec alone decides as
/// long as the roll goes where the spec says.
///
/// # Errors
/// There is none, or the API server says no.
pub async fn forward_again(cluster: &Cluster, name: &str) -> Result<Value, RollError> {
    let document = get_roll(cluster, name).await?;
    if RollStatus::of(&document).back_all {
        let change = &|_: &Value, status: &mut RollStatus| {
            status.forget_back_all();
            Ok(())
        };
        change_roll(cluster, name, change).await?;
    }
    set_in_roll(cluster, name, &json!({"direction": "Forward", "paused": false})).await
}

/// Sets which objects go next, if nobody else did since the Roll was read. Its status may have been written meanwhile.
///
/// # Errors
/// Somebody else did, there is no such Roll, or the API server says no.
pub async fn set_next(cluster: &Cluster, document: &Value, next: &[String]) -> Result<Value, RollError> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": document.pointer("/metadata/uid")},
        {"op": "test", "path": "/spec/next", "value": document.pointer("/spec/next")},
        {"op": "add", "path": "/spec/next", "value": next},
    ]);
    match cluster.patch(&format!("{ROLLS}/{name}"), PatchForm::Json, &patch, Extent::Objects).await {
        Ok(document) => Ok(document),
        Err(error) if error.is_stale() => Err(RollError::Raced(name.to_owned())),
        Err(error) => Err(missing(cluster, error, name).await),
    }
}

/// Changes a Roll's status, also while somebody runs it.
///
/// # Errors
/// What `change` says; there is no such Roll; or the API server says no.
pub async fn change_roll(
    cluster: &Cluster,
    name: &str,
    change: &dyn Fn(&Value, &mut RollStatus) -> Result<(), String>,
) -> Result<Value, RollError> {
    for _ in 0..TRIES {
        let document = get_roll(cluster, name).await?;
        let mut status = RollStatus::of(&document);
        change(&document, &mut status).map_err(RollError::Asked)?;
        match put_status(cluster, &document, &status).await {
            Err(error) if error.code() == Some(409) => {}
            answer => return Ok(answer?),
        }
    }
    Err(RollError::Raced(name.to_owned()))
}

/// Writes the status of a Roll, if it is still the one that was read.
pub(super) async fn put_status(cluster: &Cluster, document: &Value, status: &RollStatus) -> Result<Value, CallError> {
    let mut next = document.clone();
    if let Some(members) = next.as_object_mut() {
        members.insert("status".to_owned(), status.to_json());
    }
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    cluster.put(&format!("{ROLLS}/{name}/status?fieldManager={ROLL_MANAGER}"), &next).await
}

/// What it means that a Roll is not there.
async fn missing(cluster: &Cluster, error: CallError, name: &str) -> RollError {
    if error.code() != Some(404) {
        return error.into();
    }
    match list_rolls(cluster).await {
        Err(RollError::NoRolls) => RollError::NoRolls,
        // Whoever may not list them is not told what was meant.
        listed => {
            let all = listed.unwrap_or_default();
            let names = all.iter().filter_map(|roll| roll.pointer("/metadata/name")?.as_str());
            RollError::NoRoll { name: name.to_owned(), meant: did_you_mean(name, names) }
        }
    }
}

/// Whoever runs it writes a few times a second at most.
const TRIES: u16 = 10;
