//! The command lines of the servers of a Service.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::pages::{Pages, items};

/// A serving Pod.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunningServer {
    /// `namespace/name` of the Pod.
    pub pod: String,
    /// The arguments of its containers.
    pub args: Vec<String>,
}

/// The Pods of a Service with their arguments; empty for an external server.
pub(super) async fn running(cluster: &Cluster, namespace: &str, name: &str) -> Result<Vec<RunningServer>, CallError> {
    let path = format!("/api/v1/namespaces/{namespace}/services/{name}");
    let Some(service) = cluster.find(&path).await? else { return Ok(Vec::new()) };
    let Some(selector) = service.pointer("/spec/selector").and_then(Value::as_object) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut take = |list: Value| {
        let selected = items(&list).filter(|pod| {
            let labels = pod.pointer("/metadata/labels");
            selector.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
        });
        found.extend(selected.map(|pod| {
            let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            RunningServer { pod: format!("{namespace}/{name}"), args: args(pod) }
        }));
    };
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    Pages::new(cluster, pods, Extent::Objects, PAGE).all(&mut |_, _| {}, &mut take).await?;
    Ok(found)
}

fn args(pod: &Value) -> Vec<String> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    let texts = containers.flat_map(|one| ["command", "args"].map(|name| one.get(name).and_then(Value::as_array)));
    texts.flatten().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Same as the default `--chunk-size` of kubectl.
const PAGE: u32 = 500;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flags_of_all_containers_are_read() {
        let pod = json!({"spec": {"containers": [
            {"command": ["pointsman"], "args": ["serve", "--default-version"]}, {"args": null}, {},
        ]}});
        assert_eq!(args(&pod), ["pointsman", "serve", "--default-version"]);
    }
}
