//! What all documents have in common.

use serde_json::{Map, Value, json};

/// Sets a member of an object, or of null as if it were an empty one.
pub(super) fn set(object: &mut Value, name: &str, value: Value) {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// What a document is for, so that those of one purpose can be deleted together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Component {
    /// Who may write what. In an emergency it can go.
    Admission,
    /// What may be stored. Without it fields are lost.
    Conversion,
    /// What holds while a rollout is under way.
    Rollout,
}

/// The metadata of an object that is wholly ours.
pub(super) fn metadata(name: &str, component: Component) -> Value {
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

/// An object that is going must be let go, also while no server is up: its finalizers are removed by updates. What a
/// request says of itself does not count: an apply that creates may say that its object is going.
pub(super) fn not_being_deleted() -> Value {
    json!({"name": "not-being-deleted", "expression": "oldObject == null || !has(oldObject.metadata.deletionTimestamp)"})
}

/// Fills in what the API server fills in of a policy or of a webhook configuration
/// (`k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go`), where it belongs to a member that server-side
/// apply takes as one. So somebody else who applies the same document does not conflict with what is stored.
pub(super) fn with_api_defaults(mut document: Value) -> Value {
    if let Some(constraints) = document.pointer_mut("/spec/matchConstraints") {
        // Atomic: all of it belongs to the manager that applies it.
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

/// What a webhook and the constraints of a policy have in common.
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

/// A `ValidatingAdmissionPolicy`, and its binding. `rule` is which writes it looks at, `action` what it does where a
/// validation fails, as `validationActions` spells it.
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
