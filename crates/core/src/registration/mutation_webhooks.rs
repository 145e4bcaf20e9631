//! The webhook configuration for mutations.

use serde_json::{Map, Value, json};

use super::client_config::ClientConfig;
use super::document::{Component, metadata, not_being_deleted, set, with_api_defaults};
use super::guards::cel::literal;
use crate::apimachinery::{Requirement, Wants};
use crate::definition::{MutatedKind, Mutation, MutationSelection};

/// The mutating configuration for the mutations of a kind, with a webhook for each that matches exactly its objects.
/// All call `/mutate`, which applies every mutation of an object at once.
#[must_use]
pub fn mutation_webhooks(mutated: &MutatedKind, client: &ClientConfig) -> Value {
    let name = format!("pointsman-mutations.{}", mutated.resource());
    let mut metadata = metadata(&name, Component::Admission);
    client.annotate(&mut metadata);
    with_api_defaults(json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": mutated.mutations.iter().map(|mutation| webhook(mutated, mutation, client)).collect::<Vec<_>>(),
    }))
}

fn webhook(mutated: &MutatedKind, mutation: &Mutation, client: &ClientConfig) -> Value {
    let mut webhook = json!({
        // The name needs at least three parts.
        "name": format!("{}.mutations.{}", mutation.name, mutated.resource()),
        "admissionReviewVersions": ["v1"],
        "clientConfig": client.for_mutations("/mutate"),
        "failurePolicy": mutation.failure_policy.name(),
        "matchConditions": conditions(&mutation.selection),
        "matchPolicy": "Equivalent",
        // Another webhook may set a flag afterwards.
        "reinvocationPolicy": "IfNeeded",
        "rules": [rule(mutated)],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    });
    for (name, selector) in selectors(&mutation.selection, &client.spared()) {
        set(&mut webhook, name, selector);
    }
    webhook
}

/// Creations and updates of the resource, without its scale and status.
pub(super) fn rule(mutated: &MutatedKind) -> Value {
    json!({
        "apiGroups": [mutated.group()],
        "apiVersions": [mutated.version()],
        "operations": ["CREATE", "UPDATE"],
        "resources": [mutated.plural()],
        "scope": "*",
    })
}

/// The part of a selection that selectors can express, by the name of the selector. Without namespaces, the spared
/// namespaces are excluded: a webhook that receives the Deployment of its own Pods can block its restart.
pub(super) fn selectors(selection: &MutationSelection, spared: &[&str]) -> Vec<(&'static str, Value)> {
    let named = match selection.namespaces.as_slice() {
        [] => json!({"key": NAMESPACE_NAME, "operator": "NotIn", "values": spared}),
        named => json!({"key": NAMESPACE_NAME, "operator": "In", "values": named}),
    };
    let mut selectors = vec![("namespaceSelector", json!({"matchExpressions": [named]}))];
    if !selection.labels.is_everything() {
        let all: Vec<Value> = selection.labels.requirements.iter().map(requirement).collect();
        selectors.push(("objectSelector", json!({"matchExpressions": all})));
    }
    selectors
}

fn requirement(requirement: &Requirement) -> Value {
    let (operator, values) = match &requirement.wants {
        Wants::There => ("Exists", None),
        Wants::NotThere => ("DoesNotExist", None),
        Wants::In(values) => ("In", Some(values)),
        Wants::NotIn(values) => ("NotIn", Some(values)),
    };
    let mut written = Map::new();
    written.insert("key".to_owned(), json!(requirement.key));
    written.insert("operator".to_owned(), json!(operator));
    if let Some(values) = values {
        written.insert("values".to_owned(), json!(values));
    }
    Value::Object(written)
}

/// The part of a selection that selectors cannot express.
pub(super) fn conditions(selection: &MutationSelection) -> Vec<Value> {
    let mut conditions = vec![not_being_deleted()];
    if !selection.names.is_empty() {
        let names: Vec<String> = selection.names.iter().map(|name| literal(name)).collect();
        let expression = format!("has(object.metadata.name) && object.metadata.name in [{}]", names.join(", "));
        conditions.push(json!({"name": "of-these-names", "expression": expression}));
    }
    conditions
}

/// The label that the API server sets on each namespace: its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::{Address, Trust};

    fn selector(mutation: &str, address: Address) -> Value {
        let text = format!(
            "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
             resource: {{group: apps, version: v1, kind: Deployment, plural: deployments}}\nmutations:\n\
             - name: moved\n  fact: {{resource: nodes, name: x, label: moved}}\n{mutation}  always: [{{noFlag: --a}}]\n"
        );
        let mutated = MutatedKind::load("s.yaml", &text).unwrap();
        let printed = mutation_webhooks(&mutated, &ClientConfig { address, trust: Trust::SystemRoots });
        printed["webhooks"][0]["namespaceSelector"]["matchExpressions"].clone()
    }

    #[test]
    fn mutation_spares_server_namespace() {
        let service = |text: &str| Address::Service(text.parse().unwrap());
        let spared = |values: &[&str]| json!([{"key": NAMESPACE_NAME, "operator": "NotIn", "values": values}]);
        assert_eq!(selector("", service("ours/pointsman")), spared(&["ours", "kube-system"]));
        assert_eq!(selector("", service("kube-system/pointsman")), spared(&["kube-system"]));
        let url = || Address::Url("https://pointsman.example.com".parse().unwrap());
        assert_eq!(selector("", url()), spared(&["kube-system"]));
        // An explicit namespace is intended.
        let named = json!([{"key": NAMESPACE_NAME, "operator": "In", "values": ["kube-system"]}]);
        assert_eq!(selector("  namespaces: [kube-system]\n", service("ours/pointsman")), named);
    }
}
