//! StagedRollouts with workflows that must not start, each with a hint.

use pointsman_core::definition::Kind;
use pointsman_rollout::{
    LookupResults, PlanInput, Rollout, RolloutStatus, answered_rollout, rollout_lookups, start_refusals,
};
use serde_json::{Value, json};

use super::stations::CRD;

pub(super) fn rolled(workflows: &Value, spec: &Value) -> Result<Rollout, String> {
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: ships.crd.yaml\nhealth: {{all: [{{condition: \
         Ready}}]}}\nworkflows: {workflows}\n"
    );
    let kind = Kind::from_crd(&definition, CRD).unwrap();
    let mut whole = json!({"kind": "ship", "workflow": "j", "to": "v2", "waves": [{"name": "rest"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let rollout = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "rollout-1"}, "spec": whole,
    });
    answered_rollout(&rollout, &kind).map_err(|bad| bad.to_string())
}

fn template(more: &Value) -> Value {
    let mut job = json!({"template": "yard/crane"});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"name": "never", "job": job, "irreversible": "it is for good"})
}

#[test]
fn ambiguous_workflows_are_refused() {
    let lock = |value: &str| json!({"name": "lock", "set": {"fields": {"spec.lock": value}}});
    let label = json!({"set": {"fields": {"metadata.labels[\"dock\"]": "x"}}});
    let wait = json!({"wait": {"until": {"field": "status.level", "is": "{from}"}}});
    let canary = json!({"waves": [{"name": "one", "selector": {"labels": "dock=a"}}, {"name": "rest"}]});
    let two = json!({"waves": [{"name": "rest"}, {"name": "again", "workflow": "k"}]});
    let run = json!({"waves": [
        {"name": "never", "run": {"job": {"template": "yard/crane"}, "irreversible": "it is for good"}}, {"name": "rest"},
    ]});
    let none = json!({});
    for (workflows, spec, why) in [
        (json!({"j": [lock("{from}")]}), &none, "the StagedRollout has no `from`"),
        (json!({"j": [wait]}), &none, "the StagedRollout has no `from`"),
        (json!({"j": [template(&json!({"env": {"A": "{from}"}}))]}), &none, "the StagedRollout has no `from`"),
        (json!({"j": [label]}), &canary, "a selector of the StagedRollout"),
        (json!({"j": [label]}), &json!({"selector": {"labels": "dock"}}), "a selector of the StagedRollout"),
        (json!({"j": [template(&none)], "k": [template(&none)]}), &two, "both have an irreversible step never"),
        (json!({"j": [template(&none)]}), &run, "both have an irreversible step never"),
    ] {
        let told = rolled(&workflows, spec).unwrap_err();
        assert!(told.contains(why), "{workflows}: {told}");
    }
    rolled(&json!({"j": [lock("{from}"), wait]}), &json!({"from": "v1"})).unwrap();
    rolled(&json!({"j": [lock("{to}"), label]}), &json!({"selector": {"labels": "pier"}})).unwrap();
    rolled(&json!({"j": [template(&none)], "k": [lock("a")]}), &two).unwrap();
}

/// Two waves of one workflow have the same irreversible step, which is one risk.
#[test]
fn shared_workflow_is_one_risk() {
    let workflows = json!({"j": [template(&json!({}))]});
    let waves = json!([{"name": "one", "selector": {"labels": "dock=a"}}, {"name": "rest"}]);
    rolled(&workflows, &json!({"waves": waves, "acceptedRisks": ["never"]})).unwrap();
    let error = rolled(&workflows, &json!({"waves": waves, "acceptedRisks": ["nevr"]})).unwrap_err();
    assert!(error.ends_with("Known risks: no-way-back, never"), "{error}");
}

#[test]
fn templates_must_be_jobs() {
    let rollout = rolled(&json!({"j": [template(&json!({}))]}), &json!({"acceptedRisks": ["never"]})).unwrap();
    let refusals = |answers| start_refusals(&rollout, &[], &PlanInput { answers, ..PlanInput::default() });
    let lookups = rollout_lookups(&rollout, &RolloutStatus::default());
    assert_eq!(lookups.len(), 1);
    let asked = |objects: &[Value]| {
        let mut answers = LookupResults::default();
        lookups.iter().for_each(|lookup| answers.saw(lookup, objects));
        refusals(answers)
    };
    let map = |job: &Value| json!({"metadata": {"name": "crane"}, "data": {"job": job.to_string()}});
    assert!(
        refusals(LookupResults::default()).concat().contains("the template, configmap yard/crane, was not read yet")
    );
    assert!(asked(&[]).concat().contains("the template, configmap yard/crane, does not exist"));
    assert!(asked(&[map(&json!({"kind": "Pod"}))]).concat().contains("must be batch/v1 Job"));
    let containers = json!([{"name": "a"}]);
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": containers}}},
    });
    assert_eq!(asked(&[map(&job)]), [""; 0]);
    let begun = RolloutStatus { started: Some("2026-11-20T10:00:00Z".to_owned()), ..RolloutStatus::default() };
    assert!(rollout_lookups(&rollout, &begun).is_empty());
}
