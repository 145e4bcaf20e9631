//! Where resources are.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::Cluster;

/// Where the resources of a group are: in this version, or else in the one that the API server prefers.
pub(super) async fn collection(cluster: &Cluster, group: &str, version: Option<&str>) -> Result<String, CallError> {
    if group.is_empty() {
        return Ok("/api/v1".to_owned());
    }
    if let Some(version) = version {
        return Ok(format!("/apis/{group}/{version}"));
    }
    let discovered = cluster.get(&format!("/apis/{group}")).await?;
    let version = discovered.pointer("/preferredVersion/groupVersion").and_then(Value::as_str);
    Ok(format!("/apis/{}", version.unwrap_or(group)))
}
