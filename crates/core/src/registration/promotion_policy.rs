//! The policy that keeps what is being promoted, evaluated by the API server itself.
//!
//! Past the point of no return a rollout is ended as what it was begun as: what the status says is requested stays,
//! until the status says that it is completed. Who writes a status is a controller, and no webhook of ours is asked
//! about it.

use serde_json::{Value, json};

use super::cel::{field_of, literal, there};
use super::document::{Component, policy, set};
use super::guard::GuardMode;
use crate::definition::{Kind, Path, StatusMapping};

/// The `ValidatingAdmissionPolicy` by which the request of a rollout that is being promoted stays, and its binding.
/// Nothing where the definition does not say how the status speaks of rollouts, or in names that CEL cannot say.
///
/// It looks at writes in those versions whose status has the request. A controller of an older one need not know it,
/// and writes its status without it.
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
        // A write in an older version is that of somebody who does not know the request.
        set(constraints, "matchPolicy", "Exact".into());
    }
    Some(documents)
}

/// What the policy is called.
pub(super) fn promoting_name(kind: &Kind) -> String {
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

/// What was not requested by anybody who said so may still be.
fn validations(status: &StatusMapping) -> Value {
    let (requested, completed) = (&status.hashes.requested.path, &status.hashes.completed.path);
    let why = format!(" until {completed} is the same: a condition says {}", status.promoting);
    json!([{
        "expression": "!variables.promoting || variables.before == \"\" || variables.after == variables.before || \
                       variables.completed == variables.before",
        "messageExpression": format!(
            "{} + variables.before + {}",
            literal(&format!("{requested} stays \"")),
            literal(&format!("\"{why}"))
        ),
        "message": format!("{requested} stays as it is{why}"),
        "reason": "Invalid",
    }])
}
