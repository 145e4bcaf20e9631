//! Paths of collections.

use pointsman_rollout::LookupRequest;
use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::Cluster;

/// The path of a resource, given plural and group: in this version, or the preferred one; in a namespace, or across
/// namespaces or cluster-scoped.
pub(super) async fn collection(
    cluster: &Cluster,
    (plural, group): (&str, &str),
    version: Option<&str>,
    namespace: Option<&str>,
) -> Result<String, CallError> {
    let group = group_of(cluster, group, version).await?;
    let within = namespace.map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
    Ok(format!("{group}{within}/{plural}"))
}

/// The path for a lookup.
pub(super) async fn lookup_path(cluster: &Cluster, lookup: &LookupRequest) -> Result<String, CallError> {
    let resource = (lookup.plural.as_str(), lookup.group.as_str());
    collection(cluster, resource, lookup.version.as_deref(), lookup.namespace.as_deref()).await
}

/// The object at a path; `None` if the name does not exist. A missing resource is an error.
pub(super) async fn named(cluster: &Cluster, path: &str) -> Result<Option<Value>, CallError> {
    match cluster.get(path).await {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.code() == Some(404) && error.message().ends_with("not found") => Ok(None),
        Err(error) => Err(error),
    }
}

async fn group_of(cluster: &Cluster, group: &str, version: Option<&str>) -> Result<String, CallError> {
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
