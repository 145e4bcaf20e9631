//! The policy that refuses to store what was left out, evaluated by the API server itself.
//!
//! What one version alone can say is kept in an annotation, and what is too large for one is left out and marked.
//! `/convert` refuses nobody for that: a review does not tell a writer from a reader, and one refusal fails a whole
//! list. Admission knows writers. By `matchPolicy: Equivalent` the policy of a version sees every write in that
//! version, just as it will be stored.

use serde_json::{Value, json};

use super::cel::literal;
use super::document::{Component, policy};
use crate::definition::{KEPT, Kind};
use crate::webhook::INCOMPLETE;

/// The `ValidatingAdmissionPolicy` that keeps incomplete objects out of a kind's stored version, and its binding.
/// Around a change of the stored version those of both are in force.
#[must_use]
pub fn incomplete(kind: &Kind, storage: &str) -> [Value; 2] {
    // Versions have policies of their own: the old one holds until the CRD says that the new one is stored.
    let name = format!("pointsman-incomplete.{storage}.{}.{}", kind.plural(), kind.group());
    let rule = json!({
        "apiGroups": [kind.group()],
        "apiVersions": [storage],
        "operations": ["CREATE", "UPDATE"],
        "resources": [kind.plural(), format!("{}/status", kind.plural())],
    });
    policy((&name, Component::Conversion), &rule, (variables(), validations(storage)), "Deny")
}

fn variables() -> Value {
    let key = literal(INCOMPLETE);
    let mark = |object: &str| {
        let annotations = format!("{object}.metadata.annotations");
        format!("has({annotations}) && {key} in {annotations} ? {annotations}[{key}] : ''")
    };
    let marked = format!("has(object.metadata.annotations) && {key} in object.metadata.annotations");
    json!([
        {"name": "marked", "expression": marked},
        {"name": "mark", "expression": mark("object")},
        {"name": "markBefore", "expression": format!("oldObject == null ? '' : ({})", mark("oldObject"))},
        {"name": "ours", "expression": literal(KEPT)},
    ])
}

/// Neither what is incomplete, nor anything in its place from a version that could not see what is missing: who writes
/// there cannot have meant to lose it.
fn validations(storage: &str) -> Value {
    let remedy = format!(
        ", which is too large for an annotation (256 KiB for all): write it at the version in that name, or make the fields \
         smaller there that only that version has. {storage} is stored"
    );
    let named = |mark: &str| format!("{} + {mark} + {}", literal("this write would lose "), literal(&remedy));
    let message = format!("this write would lose what the annotation {INCOMPLETE} names{remedy}");
    let sees = "(variables.ours + request.requestKind.version) in variables.markBefore.split(', ')";
    json!([
        {
            "expression": "!variables.marked",
            "messageExpression": named("variables.mark"),
            "message": message,
            "reason": "Invalid",
        },
        {
            "expression": format!("!variables.markBefore.contains(variables.ours) || {sees}"),
            "messageExpression": named("variables.markBefore"),
            "message": message,
            "reason": "Invalid",
        },
    ])
}
