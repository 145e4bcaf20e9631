//! Where resources are.

use pointsman_core::rollout::LookupRequest;
use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::Cluster;

/// Where the objects of a resource are, of a plural and a group: in this version, or else in the one that the API
/// server prefers; in a namespace, or else in all of them, or in none.
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

/// Where the objects are that somebody asks for.
pub(super) async fn asked_for(cluster: &Cluster, question: &LookupRequest) -> Result<String, CallError> {
    let resource = (question.plural.as_str(), question.group.as_str());
    collection(cluster, resource, question.version.as_deref(), question.namespace.as_deref()).await
}

/// The object at a path; nothing where there is none of that name. Of a resource that there is not, an API server says
/// something else, and that is an error.
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
