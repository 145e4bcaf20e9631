//! The policy that prevents storage of incomplete objects, evaluated by the API server itself.
//!
//! A value that only one version can represent is kept in an annotation. A value that is too large for an annotation is
//! left out and marked. `/convert` does not fail for that, because a review does not distinguish readers from writers,
//! and one failure fails a whole list. Admission sees only writes. With `matchPolicy: Equivalent`, the policy of a
//! version receives every write in that version, exactly as it will be stored.

use serde_json::{Value, json};

use super::cel::literal;
use crate::definition::{KEPT, Kind};
use crate::registration::document::{Component, policy};
use crate::webhook::INCOMPLETE;

/// The `ValidatingAdmissionPolicy` that keeps incomplete objects out of the storage version of a kind, and its binding.
/// During a change of the storage version both policies are in force.
#[must_use]
pub fn incomplete(kind: &Kind, storage: &str) -> [Value; 2] {
    // Each version has its own policy: the old one holds until the CRD changes the storage version.
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

/// Rejects incomplete objects, and writes that replace them from a version that lacks the missing data, because the
/// loss is not intended.
fn validations(storage: &str) -> Value {
    let remedy = format!(
        " (these exceed the annotation limit of 256 KiB for all): write the object at the version in this name, \
             or make the fields smaller that only this version has. {storage} is stored"
    );
    let named = |mark: &str| format!("{} + {mark} + {}", literal("this write would lose "), literal(&remedy));
    let message = format!("this write would lose the values named by the annotation {INCOMPLETE}{remedy}");
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
