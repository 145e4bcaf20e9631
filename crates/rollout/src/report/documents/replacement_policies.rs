//! The policies for a kind that is replaced by another kind, evaluated by the API server itself. They prevent changes
//! of an object during its workflow, and optionally the creation of new objects of the source kind.

use serde_json::{Value, json};

use crate::spec::rollout::Rollout;
use pointsman_core::definition::{Kind, Retirement};
use pointsman_core::registration::{
    Component, NamespacedName, literal, metadata, not_being_deleted, with_api_defaults,
};

/// The policies for a rollout with a kind conversion, each with its binding. Empty for other rollouts. The service
/// account of the runner is exempt, if given.
#[must_use]
pub fn replacement_policies(rollout: &Rollout, kind: &Kind, runner: Option<&NamespacedName>) -> Vec<Value> {
    let (Some((plural, group)), Some(becoming)) = (rollout.source(), kind.becoming()) else { return Vec::new() };
    let ends = (becoming.source_kind(), kind.kind());
    let mut all: Vec<Value> = unchanged((plural, group), ends, runner).into();
    if let Some(retirement) = becoming.retirement() {
        all.extend(retired((plural, group), ends, &format!("{}/{}", kind.group(), becoming.to()), retirement));
    }
    all
}

/// Rejects changes of the spec of an object during its workflow.
fn unchanged(
    (plural, group): (&str, &str),
    (source, target): (&str, &str),
    runner: Option<&NamespacedName>,
) -> [Value; 2] {
    let on_its_way =
        "has(oldObject.metadata.annotations) && \"pointsman.dev/rollout\" in oldObject.metadata.annotations";
    let spec = |object: &str| format!("(has({object}.spec) ? {object}.spec : null)");
    let same = format!("dyn{} == dyn{}", spec("object"), spec("oldObject"));
    // The runner writes the rollout annotation in every write of the object.
    let mark = |object: &str| format!("{object}.metadata.annotations[\"pointsman.dev/rollout\"]");
    let marked = format!(
        "has(object.metadata.annotations) && \"pointsman.dev/rollout\" in object.metadata.annotations && {} == {}",
        mark("object"),
        mark("oldObject"),
    );
    let message = [
        literal(&format!("{source} ")),
        "oldObject.metadata.name".to_owned(),
        literal(&format!(" is becoming {target} ")),
        "oldObject.metadata.name".to_owned(),
        literal(&format!(
            ": change the {target} after its creation, or undo the rollout first; see pointsman rollout list"
        )),
    ];
    let not_the_runner = runner.map(|runner| {
        let user = literal(&runner.as_service_account());
        json!({"name": "not-the-rollout-itself", "expression": format!("request.userInfo.username != {user}")})
    });
    let conditions: Vec<Value> = [not_being_deleted()].into_iter().chain(not_the_runner).collect();
    let validation = json!({
        "expression": format!("!({on_its_way}) || {same} || !({marked})"), "messageExpression": message.join(" + "),
        "message": format!("this object is being replaced by a {target}"), "reason": "Forbidden",
    });
    policy(
        &format!("pointsman-becoming.{plural}.{group}"),
        (plural, group, "UPDATE"),
        (&conditions, validation),
        "Deny",
    )
}

/// Rejects new objects of the source kind, or warns about them.
fn retired(
    (plural, group): (&str, &str),
    (source, target): (&str, &str),
    api_version: &str,
    retirement: Retirement,
) -> [Value; 2] {
    let message = format!("new {source} objects are refused: create a {target} ({api_version})");
    let action = match retirement {
        Retirement::Warn => "Warn",
        Retirement::Deny => "Deny",
    };
    let validation = json!({"expression": "false", "message": message, "reason": "Forbidden"});
    policy(&format!("pointsman-retired.{plural}.{group}"), (plural, group, "CREATE"), (&[], validation), action)
}

fn policy(
    name: &str,
    (plural, group, operation): (&str, &str, &str),
    (conditions, validation): (&[Value], Value),
    action: &str,
) -> [Value; 2] {
    let rule = json!({
        "apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": [plural], "scope": "*",
    });
    [
        with_api_defaults(json!({
            "apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata(name, Component::Rollout),
            "spec": {
                "failurePolicy": "Fail", "matchConditions": conditions,
                "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
                "validations": [validation],
            },
        })),
        json!({
            "apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata(name, Component::Rollout),
            "spec": {"policyName": name, "validationActions": [action]},
        }),
    ]
}

const API: &str = "admissionregistration.k8s.io/v1";
