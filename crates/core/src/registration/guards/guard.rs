//! The policy that guards the version label, evaluated by the API server itself, even while no server runs.
//!
//! Webhook selectors cannot express "any other value", so no webhook would check an object with a label that is not
//! served. The policy checks only creations and changes of the label. Existing objects stay changeable.

use serde_json::{Value, json};

use super::cel::literal;
use crate::definition::Kind;
use crate::registration::document::{Component, policy};
use crate::webhook::{ControllerVersion, mistaken_label};

/// The action of the guard for an invalid label.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GuardMode {
    /// Reports to the audit log only.
    Audit,
    /// Rejects the request.
    Deny,
    /// Warns the client.
    Warn,
}

impl GuardMode {
    /// The value in `validationActions`.
    pub(in crate::registration) fn action(self) -> &'static str {
        match self {
            Self::Audit => "Audit",
            Self::Deny => "Deny",
            Self::Warn => "Warn",
        }
    }
}

/// The `ValidatingAdmissionPolicy` for the version label of a kind, and its binding.
#[must_use]
pub fn guard(kind: &Kind, served: &[ControllerVersion], mode: GuardMode) -> [Value; 2] {
    guard_of(kind, &texts(served), mode)
}

/// The guard for versions as registered, possibly none.
pub(in crate::registration) fn guard_of(kind: &Kind, served: &[&str], mode: GuardMode) -> [Value; 2] {
    let key = &kind.admission.version_label;
    let mut validations = validations(key, served);
    if let Some(all) = validations.as_array_mut() {
        all.extend(kind.admission.mistaken_labels.iter().map(|other| mistaken(other, key, served)));
    }
    let name = guard_name(kind);
    policy((&name, Component::Admission), &rule(kind), (variables(key, served), validations), mode.action())
}

/// The policy that warns about writes of objects with a label that is not served, because no server checks them. It
/// never rejects a write.
#[must_use]
pub fn unserved(kind: &Kind, served: &[ControllerVersion]) -> [Value; 2] {
    unserved_of(kind, &texts(served))
}

/// The policy for versions as registered.
pub(in crate::registration) fn unserved_of(kind: &Kind, served: &[&str]) -> [Value; 2] {
    let key = &kind.admission.version_label;
    let name = unserved_name(kind);
    let names = served.join(", ");
    let message = format!(
        "{} + variables.after + {}",
        literal(&format!("label {key} is \"")),
        literal(&format!("\", which no server handles: this write was not validated. Use a served version ({names})"))
    );
    let validations = json!([{
        "expression": "variables.changed || !variables.labelled || variables.after in variables.served",
        "messageExpression": message,
        "message": format!("no server handles the version in label {key}: this write was not validated. Served versions: {names}"),
        "reason": "Invalid",
    }]);
    policy((&name, Component::Admission), &rule(kind), (variables(key, served), validations), GuardMode::Warn.action())
}

/// The name of the guard of a kind.
pub(in crate::registration) fn guard_name(kind: &Kind) -> String {
    format!("pointsman-version-label.{}.{}", kind.plural(), kind.group())
}

/// The name of the policy that warns.
pub(in crate::registration) fn unserved_name(kind: &Kind) -> String {
    format!("pointsman-unserved-label.{}.{}", kind.plural(), kind.group())
}

/// The list of served versions, as an expression.
pub(in crate::registration) fn served_list(served: &[&str]) -> String {
    let served: Vec<String> = served.iter().map(|version| literal(version)).collect();
    format!("[{}]", served.join(", "))
}

fn texts(served: &[ControllerVersion]) -> Vec<&str> {
    served.iter().map(ControllerVersion::as_str).collect()
}

fn rule(kind: &Kind) -> Value {
    json!({
        "apiGroups": [kind.group()],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [kind.plural()],
    })
}

/// Rejects a label that is often mistaken for the version label. Existing labels stay.
fn mistaken(name: &str, key: &str, served: &[&str]) -> Value {
    let (other, names) = (literal(name), served.join(", "));
    let labelled = |object: &str| format!("has({object}.metadata.labels) && {other} in {object}.metadata.labels");
    let as_before = format!(
        "oldObject != null && {} && oldObject.metadata.labels[{other}] == object.metadata.labels[{other}]",
        labelled("oldObject")
    );
    json!({
        "expression": format!("!({}) || ({as_before})", labelled("object")),
        "message": format!("label {name} is not the version label: {}; served versions: {names}", mistaken_label(key)),
        "reason": "Invalid",
    })
}

/// The label before and after, and its valid values. An empty label differs from an absent label, because no version
/// serves it.
fn variables(key: &str, served: &[&str]) -> Value {
    let key = literal(key);
    let labelled = |object: &str| format!("has({object}.metadata.labels) && {key} in {object}.metadata.labels");
    let label = |object: &str| {
        let labelled = labelled(object);
        format!("{labelled} ? {object}.metadata.labels[{key}] : ''")
    };
    json!([
        {"name": "labelled", "expression": labelled("object")},
        {"name": "labelledBefore", "expression": format!("oldObject != null && {}", labelled("oldObject"))},
        {"name": "after", "expression": label("object")},
        {"name": "before", "expression": format!("oldObject == null ? '' : ({})", label("oldObject"))},
        {"name": "changed", "expression": "oldObject == null || variables.before != variables.after || variables.labelledBefore != variables.labelled"},
        {"name": "served", "expression": served_list(served)},
    ])
}

/// Requires that a change keeps a label with a served version.
fn validations(key: &str, served: &[&str]) -> Value {
    let names = served.join(", ");
    let message = format!(
        "{} + variables.after + {}",
        literal(&format!("label {key}: no controller version \"")),
        literal(&format!("\" is served; served versions: {names}"))
    );
    json!([
        {
            "expression": "!variables.changed || variables.labelled",
            "message": format!("label {key} is missing: set the controller version of the object; served versions: {names}"),
            "reason": "Invalid",
        },
        {
            "expression": "!variables.changed || !variables.labelled || variables.after in variables.served",
            "messageExpression": message,
            "message": format!("label {key}: no such controller version is served; served versions: {names}"),
            "reason": "Invalid",
        },
    ])
}
