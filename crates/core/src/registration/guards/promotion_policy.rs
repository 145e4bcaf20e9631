//! The policy that protects the request of a rollout during promotion, evaluated by the API server itself.
//!
//! After the point of no return, a rollout must complete with its original request: the requested value in the status
//! stays until the status reports its completion. Controllers write the status, and no pointsman webhook checks that.

use serde_json::{Value, json};

use super::cel::{field_of, literal, there};
use super::guard::GuardMode;
use crate::definition::{Kind, Path, StatusMapping};
use crate::registration::document::{Component, policy, set};

/// The `ValidatingAdmissionPolicy` that protects the request of a rollout in promotion, and its binding. `None` if the
/// definition has no rollout status, or if CEL cannot express its field names.
///
/// The policy applies to writes in versions whose status has the request. A controller of an older version may not know
/// the field, and writes its status without it.
#[must_use]
pub fn promoting(kind: &Kind, mode: GuardMode) -> Option<[Value; 2]> {
    let step = kind.steps.iter().find(|step| step.status.is_some())?;
    let status = step.status.as_ref()?;
    let name = promoting_name(kind);
    let newer = kind.versions.iter().skip_while(|version| version.name != step.versions.newer);
    let requested = &status.hashes.requested.path;
    let speaks = newer.filter(|version| version.schema.at(requested).is_some());
    let plural = kind.plural();
    let rules: Vec<Value> = speaks
        .map(|version| {
            let written = if version.status_apart { format!("{plural}/status") } else { plural.to_owned() };
            json!({
                "apiGroups": [kind.group()], "apiVersions": [*version.name], "operations": ["UPDATE"],
                "resources": [written],
            })
        })
        .collect();
    let rule = rules.first()?;
    let both = (variables(status)?, validations(status));
    let mut documents = policy((&name, Component::Admission), rule, both, mode.action());
    if let Some(constraints) = documents.iter_mut().find_map(|one| one.pointer_mut("/spec/matchConstraints")) {
        set(constraints, "resourceRules", rules.into());
        // A client that writes an older version does not support the request.
        set(constraints, "matchPolicy", "Exact".into());
    }
    Some(documents)
}

/// The name of the policy.
pub(in crate::registration) fn promoting_name(kind: &Kind) -> String {
    format!("pointsman-promoting.{}.{}", kind.plural(), kind.group())
}

fn variables(status: &StatusMapping) -> Option<Value> {
    let text = |object: &str, field: &Path| {
        let (there, value) = (there(object, field)?, field_of(object, field)?);
        Some(format!("{there} && {value} != null ? {value} : \"\""))
    };
    let (requested, completed) = (&status.hashes.requested.path, &status.hashes.completed.path);
    let conditions = field_of("oldObject", &status.reasons)?;
    let promoting = format!(
        "{} && {conditions} != null && {conditions}.exists(c, has(c.reason) && c.reason == {})",
        there("oldObject", &status.reasons)?,
        literal(&status.promoting)
    );
    Some(json!([
        {"name": "promoting", "expression": promoting},
        {"name": "before", "expression": text("oldObject", requested)?},
        {"name": "after", "expression": text("object", requested)?},
        {"name": "completed", "expression": text("object", completed)?},
    ]))
}

/// Allows changes of a request without a previous value.
fn validations(status: &StatusMapping) -> Value {
    let (requested, completed) = (&status.hashes.requested.path, &status.hashes.completed.path);
    let why = format!(" until {completed} is equal: a condition has {}", status.promoting);
    json!([{
        "expression": "!variables.promoting || variables.before == \"\" || variables.after == variables.before || \
                       variables.completed == variables.before",
        "messageExpression": format!(
            "{} + variables.before + {}",
            literal(&format!("{requested} stays \"")),
            literal(&format!("\"{why}"))
        ),
        "message": format!("{requested} stays unchanged{why}"),
        "reason": "Invalid",
    }])
}
