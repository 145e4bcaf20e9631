//! The common parts of all documents.

use serde_json::{Map, Value, json};

/// Sets a member of an object. Null counts as an empty object.
pub(super) fn set(object: &mut Value, name: &str, value: Value) {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// The purpose of a document, so that documents of one purpose can be deleted together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Component {
    /// Access rules. Can be deleted in an emergency.
    Admission,
    /// Conversion. Without it fields are lost.
    Conversion,
    /// Protection while a rollout is in progress.
    Rollout,
}

/// The metadata of an object that pointsman owns.
pub fn metadata(name: &str, component: Component) -> Value {
    json!({
        "name": name,
        "labels": {
            "app.kubernetes.io/component": match component {
                Component::Admission => "admission",
                Component::Conversion => "conversion",
                Component::Rollout => "rollout",
            },
            "app.kubernetes.io/managed-by": "pointsman",
            "app.kubernetes.io/name": "pointsman",
        },
    })
}

/// A match condition that allows updates of terminating objects even while no server runs, because finalizers are
/// removed by updates. The new object does not count: a creation may contain a deletion timestamp.
pub fn not_being_deleted() -> Value {
    json!({"name": "not-being-deleted", "expression": "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"})
}

/// Fills in the API server's defaults of a policy or webhook configuration
/// (`k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go`), if they belong to a member that server-side
/// apply treats as atomic. So another client that applies the same document has no conflict.
pub fn with_api_defaults(mut document: Value) -> Value {
    if let Some(constraints) = document.pointer_mut("/spec/matchConstraints") {
        // Atomic: the whole member belongs to one field manager.
        set_default(constraints, "namespaceSelector", json!({}));
        set_default(constraints, "objectSelector", json!({}));
        fill(constraints, "resourceRules");
    }
    let is_mutating = document.get("kind").is_some_and(|kind| kind == "MutatingWebhookConfiguration");
    let webhooks = document.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        fill(webhook, "rules");
        if is_mutating {
            set_default(webhook, "reinvocationPolicy", "Never".into());
        }
        if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
            set_default(service, "port", json!(443));
        }
    }
    document
}

/// The common defaults of a webhook and of the constraints of a policy.
fn fill(selects: &mut Value, rules: &str) {
    set_default(selects, "matchPolicy", "Equivalent".into());
    for rule in selects.get_mut(rules).and_then(Value::as_array_mut).into_iter().flatten() {
        set_default(rule, "scope", "*".into());
    }
}

fn set_default(object: &mut Value, name: &str, value: Value) {
    if object.get(name).is_none() {
        set(object, name, value);
    }
}

/// A `ValidatingAdmissionPolicy`, and its binding. `rule` selects the writes, `action` is the action for a failed
/// validation, as in `validationActions`.
pub(super) fn policy(
    (name, component): (&str, Component),
    rule: &Value,
    (variables, validations): (Value, Value),
    action: &str,
) -> [Value; 2] {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(name, component),
        "spec": {
            "failurePolicy": "Fail",
            "matchConditions": [not_being_deleted()],
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
            "variables": variables,
            "validations": validations,
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(name, component),
        "spec": {"policyName": name, "validationActions": [action]},
    });
    [with_api_defaults(policy), binding]
}
