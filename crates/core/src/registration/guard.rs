//! The policy that guards the version label, evaluated by the API server itself: it holds while no server of ours is up.
//!
//! Webhook selectors cannot say "any other value", so an object with a label that nobody serves would be judged by
//! nobody. The policy looks at creations and at changes of the label alone; what is there already stays changeable.

use serde_json::{Value, json};

use crate::definition::Kind;
use crate::webhook::ControllerVersion;

/// What the guard does with a label it does not accept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GuardMode {
    /// Only the audit log hears of it.
    Audit,
    /// The request is refused.
    Deny,
    /// The user is warned.
    Warn,
}

/// The `ValidatingAdmissionPolicy` for a kind's version label, and its binding.
#[must_use]
pub fn guard(kind: &Kind, served: &[ControllerVersion], mode: GuardMode) -> [Value; 2] {
    let key = &kind.admission.version_label;
    let name = format!("pointsman-version-label.{}.{}", kind.plural(), kind.group());
    let quoted = cel_string(key);
    let list: Vec<String> = served.iter().map(|version| cel_string(version.as_str())).collect();
    let names = served.iter().map(ControllerVersion::as_str).collect::<Vec<_>>().join(", ");
    let labelled = |object: &str| {
        format!("has({object}.metadata.labels) && {quoted} in {object}.metadata.labels")
    };
    let label = |object: &str| {
        let labelled = labelled(object);
        format!("{labelled} ? {object}.metadata.labels[{quoted}] : ''")
    };
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "pointsman", "app.kubernetes.io/managed-by": "pointsman"}},
        "spec": {
            "failurePolicy": "Fail",
            // An object that is going must be let go: its finalizers are removed by updates.
            "matchConditions": [{"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"}],
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "resourceRules": [{
                    "apiGroups": [kind.group()],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": [kind.plural()],
                }],
            },
            "variables": [
                {"name": "labelled", "expression": labelled("object")},
                {"name": "labelledBefore", "expression": format!("oldObject != null && {}", labelled("oldObject"))},
                {"name": "after", "expression": label("object")},
                {"name": "before", "expression": format!("oldObject == null ? '' : ({})", label("oldObject"))},
                {"name": "changed", "expression": "oldObject == null || variables.before != variables.after || variables.labelledBefore != variables.labelled"},
                {"name": "served", "expression": format!("[{}]", list.join(", "))},
            ],
            "validations": [
                {
                    "expression": "!variables.changed || variables.labelled",
                    "message": format!("label {key} is missing: it says which controller version manages the object; served are {names}"),
                    "reason": "Invalid",
                },
                {
                    "expression": "!variables.changed || !variables.labelled || variables.after in variables.served",
                    "messageExpression": format!(
                        "{} + variables.after + {}",
                        cel_string(&format!("label {key}: no controller version \"")),
                        cel_string(&format!("\" is served; served are {names}"))
                    ),
                    "message": format!("label {key}: no such controller version is served; served are {names}"),
                    "reason": "Invalid",
                },
            ],
        },
    });
    let action = match mode {
        GuardMode::Audit => "Audit",
        GuardMode::Deny => "Deny",
        GuardMode::Warn => "Warn",
    };
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "pointsman", "app.kubernetes.io/managed-by": "pointsman"}},
        "spec": {"policyName": name, "validationActions": [action]},
    });
    [policy, binding]
}

/// A string literal of CEL, which writes them as JSON does.
pub(super) fn cel_string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
