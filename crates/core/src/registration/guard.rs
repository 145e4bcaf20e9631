//! The policy that guards the version label, evaluated by the API server itself: it holds while no server of ours is up.
//!
//! Webhook selectors cannot say "any other value", so an object with a label that nobody serves would be judged by
//! nobody. The policy looks at creations and at changes of the label alone; what is there already stays changeable.

use serde_json::{Value, json};

use super::cel::literal;
use super::document::policy;
use crate::{definition::Kind, webhook::ControllerVersion};

/// What the guard does with a label it does not accept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GuardMode {
    /// Only the audit log hears of it.
    Audit,
    /// The request is refused.
    Deny,
    /// The user is warned.
    Warn,
}

impl GuardMode {
    /// As `validationActions` spells it.
    fn action(self) -> &'static str {
        match self {
            Self::Audit => "Audit",
            Self::Deny => "Deny",
            Self::Warn => "Warn",
        }
    }
}

/// The `ValidatingAdmissionPolicy` for a kind's version label, and its binding.
#[must_use]
pub fn guard(kind: &Kind, served: &[ControllerVersion], mode: GuardMode) -> [Value; 2] {
    let name = format!("pointsman-version-label.{}.{}", kind.plural(), kind.group());
    let key = &kind.admission.version_label;
    let rule = json!({
        "apiGroups": [kind.group()],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [kind.plural()],
    });
    policy(&name, &rule, (variables(key, served), validations(key, served)), mode.action())
}

/// The label before and after, and what may be in it. An empty label is not the same as none: it would be nobody's.
fn variables(key: &str, served: &[ControllerVersion]) -> Value {
    let key = literal(key);
    let labelled = |object: &str| format!("has({object}.metadata.labels) && {key} in {object}.metadata.labels");
    let label = |object: &str| {
        let labelled = labelled(object);
        format!("{labelled} ? {object}.metadata.labels[{key}] : ''")
    };
    let served: Vec<String> = served.iter().map(|version| literal(version.as_str())).collect();
    json!([
        {"name": "labelled", "expression": labelled("object")},
        {"name": "labelledBefore", "expression": format!("oldObject != null && {}", labelled("oldObject"))},
        {"name": "after", "expression": label("object")},
        {"name": "before", "expression": format!("oldObject == null ? '' : ({})", label("oldObject"))},
        {"name": "changed", "expression": "oldObject == null || variables.before != variables.after || variables.labelledBefore != variables.labelled"},
        {"name": "served", "expression": format!("[{}]", served.join(", "))},
    ])
}

/// A change leaves a label, and one that is served.
fn validations(key: &str, served: &[ControllerVersion]) -> Value {
    let names = served.iter().map(ControllerVersion::as_str).collect::<Vec<_>>().join(", ");
    let message = format!(
        "{} + variables.after + {}",
        literal(&format!("label {key}: no controller version \"")),
        literal(&format!("\" is served; served are {names}"))
    );
    json!([
        {
            "expression": "!variables.changed || variables.labelled",
            "message": format!("label {key} is missing: it says which controller version manages the object; served are {names}"),
            "reason": "Invalid",
        },
        {
            "expression": "!variables.changed || !variables.labelled || variables.after in variables.served",
            "messageExpression": message,
            "message": format!("label {key}: no such controller version is served; served are {names}"),
            "reason": "Invalid",
        },
    ])
}
