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
    /// What holds while a roll is under way.
    Roll,
}

/// The metadata of an object that is wholly ours.
pub(super) fn metadata(name: &str, component: Component) -> Value {
    json!({
        "name": name,
        "labels": {
            "app.kubernetes.io/component": match component {
                Component::Admission => "admission",
                Component::Conversion => "conversion",
                Component::Roll => "roll",
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
    [policy, binding]
}
