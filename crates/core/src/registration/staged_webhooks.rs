//! The webhook configuration of stages.

use serde_json::{Map, Value, json};

use super::cel::literal;
use super::client_config::ClientConfig;
use super::document::{Component, metadata, not_being_deleted, set};
use crate::apimachinery::{Requirement, Wants};
use crate::definition::{MutationStage, StageSelection, StagedKind};

/// The mutating configuration for the stages of a kind: a webhook for each, which is asked about the objects that it is
/// about and about no others. All of them lead to `/mutate`, which answers for every stage of an object at once.
#[must_use]
pub fn staged_webhooks(staged: &StagedKind, client: &ClientConfig) -> Value {
    let name = format!("pointsman-stages.{}", staged.resource());
    let mut metadata = metadata(&name, Component::Admission);
    client.annotate(&mut metadata);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": staged.stages.iter().map(|stage| webhook(staged, stage, client)).collect::<Vec<_>>(),
    })
}

fn webhook(staged: &StagedKind, stage: &MutationStage, client: &ClientConfig) -> Value {
    let mut webhook = json!({
        // It has three parts at least.
        "name": format!("{}.stages.{}", stage.name, staged.resource()),
        "admissionReviewVersions": ["v1"],
        "clientConfig": client.for_stages("/mutate"),
        "failurePolicy": stage.failure_policy.name(),
        "matchConditions": conditions(&stage.selection),
        "matchPolicy": "Equivalent",
        // Another webhook may set a flag after us.
        "reinvocationPolicy": "IfNeeded",
        "rules": [rule(staged)],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    });
    for (name, selector) in selectors(&stage.selection) {
        set(&mut webhook, name, selector);
    }
    webhook
}

/// Creates and updates of the resource. Its scale and its status are others.
pub(super) fn rule(staged: &StagedKind) -> Value {
    json!({
        "apiGroups": [staged.group()],
        "apiVersions": [staged.version()],
        "operations": ["CREATE", "UPDATE"],
        "resources": [staged.plural()],
        "scope": "*",
    })
}

/// What selectors can say of a selection, by the name of the selector.
pub(super) fn selectors(selection: &StageSelection) -> Vec<(&'static str, Value)> {
    let mut selectors = Vec::new();
    if !selection.namespaces.is_empty() {
        let named = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": selection.namespaces});
        selectors.push(("namespaceSelector", json!({"matchExpressions": [named]})));
    }
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

/// What selectors cannot say.
pub(super) fn conditions(selection: &StageSelection) -> Vec<Value> {
    let mut conditions = vec![not_being_deleted()];
    if !selection.names.is_empty() {
        let names: Vec<String> = selection.names.iter().map(|name| literal(name)).collect();
        let expression = format!("has(object.metadata.name) && object.metadata.name in [{}]", names.join(", "));
        conditions.push(json!({"name": "of-these-names", "expression": expression}));
    }
    conditions
}
