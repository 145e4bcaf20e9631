//! Endpoints of a webhook: every Pod that the API server may call.

use serde_json::Value;

use super::client_stanza::WebhookPlace;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// An error without endpoints.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum NoEndpoints {
    /// The API call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// No endpoint exists.
    #[error("{0}")]
    Missing(String),
}

/// A ready endpoint.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Replica {
    /// `host:port`.
    pub(crate) address: String,
    /// The API path of its Pod, if it is a Pod.
    pub(crate) pod: Option<String>,
}

/// `host:port` of all ready endpoints.
pub(crate) async fn endpoints(cluster: &Cluster, place: &WebhookPlace) -> Result<Vec<String>, NoEndpoints> {
    let mut found: Vec<String> = replicas(cluster, place).await?.into_iter().map(|one| one.address).collect();
    found.dedup();
    Ok(found)
}

/// All ready endpoints.
pub(crate) async fn replicas(cluster: &Cluster, place: &WebhookPlace) -> Result<Vec<Replica>, NoEndpoints> {
    let alone = |address| Ok(vec![Replica { address, pod: None }]);
    let (namespace, name, port) = match place {
        WebhookPlace::Url { host, port } => return alone(joined(host, *port)),
        WebhookPlace::Service { namespace, name, port } => (namespace, name, *port),
    };
    let service = match cluster.get(&format!("/api/v1/namespaces/{namespace}/services/{name}")).await {
        Ok(service) => service,
        Err(CallError::Refused { code: 404, .. }) => {
            return Err(NoEndpoints::Missing(format!(
                "Service {namespace}/{name} does not exist: install pointsman first"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let text = |path: &str| service.pointer(path).and_then(Value::as_str);
    if text("/spec/type") == Some("ExternalName") {
        return alone(joined(text("/spec/externalName").unwrap_or_default(), port));
    }
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    let is_it = |entry: &&Value| entry.get("port").and_then(Value::as_u64) == Some(u64::from(port));
    let Some(entry) = ports.into_iter().flatten().find(is_it) else {
        return Err(NoEndpoints::Missing(format!("Service {namespace}/{name} has no port {port}")));
    };
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
    let slices = cluster.get(&format!("{path}?labelSelector=kubernetes.io%2Fservice-name%3D{name}")).await?;
    let found = ready(&slices, entry.get("name").and_then(Value::as_str).unwrap_or_default());
    if found.is_empty() {
        return Err(NoEndpoints::Missing(format!("Service {namespace}/{name} has no ready endpoint")));
    }
    Ok(found)
}

/// Ready endpoints in `EndpointSlice`s, at the port of this name.
fn ready(slices: &Value, port: &str) -> Vec<Replica> {
    let mut found = Vec::new();
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    for slice in list(slices, "items") {
        let named = |entry: &&Value| entry.get("name").and_then(Value::as_str).unwrap_or_default() == port;
        let number = list(&slice, "ports").iter().find(named).and_then(|entry| entry.get("port")?.as_u64());
        let Some(number) = number.and_then(|number| u16::try_from(number).ok()) else { continue };
        for endpoint in list(&slice, "endpoints") {
            let is_ready = endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true);
            let addresses = list(&endpoint, "addresses");
            let first = addresses.first().and_then(Value::as_str).filter(|_| is_ready);
            let replica = |address| Replica { address: joined(address, number), pod: pod(&endpoint) };
            found.extend(first.map(replica));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The API path of the Pod of an endpoint.
fn pod(endpoint: &Value) -> Option<String> {
    let text = |name: &str| endpoint.get("targetRef")?.get(name)?.as_str();
    let (namespace, name) = (text("namespace")?, text("name")?);
    (text("kind") == Some("Pod")).then(|| format!("/api/v1/namespaces/{namespace}/pods/{name}"))
}

/// A socket address as text.
fn joined(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ready_endpoints_use_own_port() {
        let slices = json!({"items": [
            {"ports": [{"name": "metrics", "port": 8080}, {"name": "https", "port": 8443}], "endpoints": [
                {"addresses": ["10.0.0.2"], "conditions": {"ready": true},
                    "targetRef": {"kind": "Pod", "namespace": "n", "name": "p"}},
                {"addresses": ["10.0.0.3"], "conditions": {"ready": false}},
                {"addresses": ["10.0.0.4"], "conditions": {}, "targetRef": {"kind": "Node", "namespace": "n", "name": "p"}},
            ]},
            {"ports": [{"name": "https", "port": 9443}], "endpoints": [{"addresses": ["fd00::1"]}]},
            {"ports": null, "endpoints": null},
        ]});
        let found: Vec<_> = ready(&slices, "https").into_iter().map(|one| (one.address, one.pod)).collect();
        let wanted =
            [("10.0.0.2:8443", Some("/api/v1/namespaces/n/pods/p")), ("10.0.0.4:8443", None), ("[fd00::1]:9443", None)];
        assert_eq!(found, wanted.map(|(address, pod)| (address.to_owned(), pod.map(str::to_owned))));
        assert_eq!(ready(&slices, "other"), []);
    }
}
