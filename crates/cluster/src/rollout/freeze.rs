//! The freeze of a rollout in the cluster: the admission policy that enforces it.

use pointsman_core::did_you_mean;
use pointsman_rollout::Rollout;
use pointsman_rollout::documents::{FreezeDocuments, freeze};
use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::pages::items;

/// Frozen resources that the API server cannot enforce, one sentence each: it does not serve them, or they are
/// cluster-scoped.
///
/// # Errors
/// Discovery failed.
pub async fn unfreezable(cluster: &Cluster, rollout: &Rollout) -> Result<Vec<String>, CallError> {
    if rollout.frozen().next().is_none() {
        return Ok(Vec::new());
    }
    let mut served = Vec::new();
    for path in ["/api", "/apis"] {
        served.extend(resources(&cluster.read(path, Extent::Discovery).await?));
    }
    Ok(unmatched(rollout, &served))
}

/// A served resource: name with group, and whether it is namespaced.
type ServedResource = (String, bool);

fn unmatched(rollout: &Rollout, served: &[ServedResource]) -> Vec<String> {
    let names = || served.iter().map(|(name, _)| name.as_str());
    let wrong = rollout.frozen().filter_map(|frozen| {
        let name = frozen.resource.to_string();
        match served.iter().find(|(known, _)| *known == name) {
            None => {
                let elsewhere = names().find(|known| known.split('.').next() == Some(frozen.resource.plural.as_str()));
                let hint = match elsewhere {
                    Some(known) => format!(", did you mean {known:?}?"),
                    None => did_you_mean(&name, names()),
                };
                Some(format!("freeze: this cluster has no {name}{hint}"))
            }
            Some((_, false)) if frozen.in_namespaces => {
                Some(format!("freeze: {name} are cluster-scoped: remove `namespaces` to freeze this resource"))
            }
            Some(_) => None,
        }
    });
    wrong.collect()
}

/// The resources of an `APIGroupDiscoveryList`.
fn resources(list: &Value) -> Vec<ServedResource> {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let each = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = Vec::new();
    for group in items(list) {
        let suffix = match text(group, "/metadata/name").as_str() {
            "" => String::new(),
            name => format!(".{name}"),
        };
        for resource in each(group, "versions").iter().flat_map(|version| each(version, "resources")) {
            all.push((text(&resource, "/resource") + &suffix, text(&resource, "/scope") == "Namespaced"));
        }
    }
    all
}

/// Applies the policy. pointsman owns all of its fields, so conflicts are forced.
pub(super) async fn apply_freeze(cluster: &Cluster, documents: &FreezeDocuments) -> Result<(), CallError> {
    for document in [&documents.policy, &documents.binding] {
        cluster.apply(document, true).await?;
    }
    Ok(())
}

/// The same as a dry run.
pub(super) async fn try_freeze(cluster: &Cluster, documents: &FreezeDocuments) -> Result<(), CallError> {
    for document in [&documents.policy, &documents.binding] {
        cluster.try_apply(document, true).await?;
    }
    Ok(())
}

/// The reason why the freeze is not in force; `None` if it is, or without freeze.
pub(super) async fn unfrozen(cluster: &Cluster, rollout: &Rollout) -> Result<Option<String>, CallError> {
    let Some(documents) = freeze(rollout, None) else { return Ok(None) };
    let [policy, binding] = paths(&documents);
    let (policy, binding) = (cluster.find(&policy).await?, cluster.find(&binding).await?);
    Ok(documents.unmet(policy.as_ref(), binding.as_ref()))
}

/// Deletes the policy. Returns true if it existed.
pub(super) async fn thaw(cluster: &Cluster, rollout: &Rollout) -> Result<bool, CallError> {
    let Some(documents) = freeze(rollout, None) else { return Ok(false) };
    let [policy, binding] = paths(&documents);
    let (binding, policy) = (cluster.delete(&binding).await?, cluster.delete(&policy).await?);
    Ok(binding || policy)
}

/// The paths of policy and binding.
fn paths(documents: &FreezeDocuments) -> [String; 2] {
    ["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
        .map(|plural| format!("/apis/admissionregistration.k8s.io/v1/{plural}/{}", documents.name))
}

#[cfg(test)]
mod tests {
    use pointsman_core::definition::Kind;
    use pointsman_rollout::read_rollout;
    use serde_json::json;

    use super::*;

    fn rollout(freeze: &str) -> Rollout {
        let text = format!(
            "{{apiVersion: pointsman.dev/v1, kind: StagedRollout, metadata: {{name: a}}, \
             spec: {{kind: any, to: 2.17.0, waves: [{{name: a}}], freeze: [{freeze}]}}}}"
        );
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kinds/elasticsearch");
        let read = |file: &str| std::fs::read_to_string(format!("{dir}/{file}"));
        let definition = read("elasticsearch.yaml").unwrap();
        let kind = Kind::load("elasticsearch.yaml", &definition, &mut |file| read(file)).unwrap();
        read_rollout("rollout.yaml", &text, &kind).unwrap()
    }

    #[test]
    fn missing_resource_is_reported() {
        let list = |group: &str, resources: Value| {
            json!({
                "items": [{"metadata": {"name": group}, "versions": [{"version": "v1", "resources": resources}]}],
            })
        };
        let resource = |name: &str, scope: &str| json!({"resource": name, "scope": scope});
        let core = list("", json!([resource("configmaps", "Namespaced"), resource("nodes", "Cluster")]));
        let apps = list("apps", json!([resource("deployments", "Namespaced")]));
        let served = [resources(&core), resources(&apps)].concat();
        for (freeze, expected) in [
            ("{resources: [configmaps, deployments.apps, nodes]}", ""),
            ("{resources: [configmaps], namespaces: [a]}", ""),
            (
                "{resources: [deployments]}",
                "freeze: this cluster has no deployments, did you mean \"deployments.apps\"?",
            ),
            (
                "{resources: [deploymets.apps]}",
                "this cluster has no deploymets.apps, did you mean \"deployments.apps\"?",
            ),
            ("{resources: [helmreleases.example.com]}", "freeze: this cluster has no helmreleases.example.com"),
            ("{resources: [nodes], namespaces: [a]}", "freeze: nodes are cluster-scoped: remove `namespaces`"),
        ] {
            let message = unmatched(&rollout(freeze), &served).join("; ");
            assert!(
                if expected.is_empty() {
                    message.is_empty()
                } else {
                    message.starts_with(expected) || message.contains(expected)
                },
                "{message}"
            );
        }
    }
}
