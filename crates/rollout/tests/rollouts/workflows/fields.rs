//! Definitions of workflows: refused definitions, each with its line; and the writes of a step.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_rollout::check_definition;
use serde_json::{Value, json};

use super::stations::CRD;

fn defined(steps: &Value) -> Result<Kind, BadDefinition> {
    let workflows = json!({"j": steps});
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: ships.crd.yaml\nhealth: {{all: [{{condition: \
         Ready}}]}}\nworkflows: {workflows}\n"
    );
    let kind = Kind::from_crd(&definition, CRD)?;
    check_definition(&kind).map(|()| kind)
}

fn refused(cases: &[(Value, &str)]) {
    for (steps, why) in cases {
        let error = defined(steps).unwrap_err().to_string();
        assert!(
            error.contains(why) && error.starts_with("definition:5: workflows.j: ") || error.contains("has no step"),
            "{steps}: {error}"
        );
        assert!(error.contains(why), "{steps}: {error}");
    }
}

/// A step that recreates a Deployment, with its previous selector.
fn recreated(was: &Value) -> Value {
    let selector = json!({"a": "{name}"});
    json!([{"recreate": {"resource": "deployments.apps", "name": "{name}", "selector": selector, "was": was}}])
}

/// Steps about other objects.
#[test]
fn impossible_object_step_has_hint() {
    refused(&[
        (json!([{"wait": {"on": "deployments.apps/{name}"}}]), "needs either `until` or `rolledOut: true`"),
        (json!([{"wait": {"on": "services/{name}", "rolledOut": true}}]), "only deployments.apps are rolled out"),
        (json!([{"wait": {"on": "nowhere", "until": {"field": "a", "is": 1}}}]), "is no object: write source, target"),
        (json!([{"wait": {"rolledOut": true}}]), "wait: needs `until`"),
        (json!([{"convert": {}}]), "the definition has no `replaces`"),
        (
            json!([{"recreate": {"resource": "statefulsets.apps", "name": "a", "selector": {"a": "b"}}}]),
            "without a gap",
        ),
        (json!([{"recreate": {"resource": "deployments.apps", "name": "{nam}", "selector": {"a": "b"}}}]), "no name"),
        (json!([{"recreate": {"resource": "deployments.apps", "name": "a", "selector": {}}}]), "have to hold {name}"),
        (
            json!([{"delete": {"resource": "pods", "labels": "a=b"}, "irreversible": "x"}]),
            "require a label with {name} in its value",
        ),
        (json!([{"delete": {"resource": "pods", "labels": "a={name}"}}]), "set `madeAgain: true`"),
        (
            json!([{"delete": {"resource": "pods", "labels": "a!={name}", "madeAgain": true}}]),
            "require a label with {name} in its value",
        ),
        (
            json!([{"delete": {"resource": "pods", "labels": "a in (b,{name})", "madeAgain": true}}]),
            "require a label with {name} in its value",
        ),
        (
            json!([{"delete": {"resource": "persistentvolumeclaims", "labels": "a={name}", "madeAgain": true}}]),
            "no controller recreates persistentvolumeclaims",
        ),
        (
            json!([{"recreate": {"resource": "deployments.apps", "name": "{name}", "selector": {"a": "b"}}}]),
            "a value of selector, have to hold {name}",
        ),
        (recreated(&json!({"a": "b"})), "a value of was has to hold {name}"),
        (recreated(&json!({"a": "{name}"})), "`was` and `selector` must differ"),
        (recreated(&json!({"a": "{name}", "b": "/"})), "was: b: \"/\" is no label"),
        (
            json!([{"delete": {"resource": "pods"}}]),
            "needs `on: source`, or a `resource` with either `labels` or `names`",
        ),
    ]);
}

#[test]
fn impossible_workflow_has_hint() {
    let manifest = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "yard"},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}]}}},
    });
    let job = json!({"manifest": manifest});
    let set = json!({"set": {"fields": {"spec.lock": "x"}}});
    let wait = json!({"wait": {"until": {"field": "status.level", "is": "{to}"}}});
    let cases = [
        (json!([]), "has no step"),
        (json!([{"when": {"field": "spec.flag", "is": true}}]), "has no step"),
        (json!([wait, {"when": {"field": "spec.flag", "is": true}}]), "`when` must be the first step"),
        (json!([{"name": "a"}]), "one of `when`, `set`, `unset`, `wait`, `job`, `convert`"),
        (json!([{"set": {"fields": {"spec.locks": 1}}}]), "no \"locks\" there, did you mean \"lock\"?"),
        (json!([{"set": {"fields": {"spec.flag": "x"}}}]), "spec.flag can never be \"x\""),
        (json!([{"set": {"fields": {"status.level": "x"}}}]), "a status is the controller's"),
        (
            json!([{"set": {"fields": {"metadata.annotations[\"pointsman.dev/rollout\"]": "x"}}}]),
            "no label or annotation of yours",
        ),
        (
            json!([{"set": {"fields": {"spec.note": {}, "spec.note.other": "x"}}}]),
            "are nested: write the outer field only",
        ),
        (json!([{"unset": {"fields": []}}]), "names no field"),
        (json!([set, {"name": "set-1", "unset": {"fields": ["spec.flag"]}}]), "two steps have the name \"set-1\""),
        (json!([{"job": job}]), "needs an `undo`, or the step needs `irreversible` with a reason"),
        (
            json!([{"job": {"manifest": manifest, "undo": job}, "irreversible": "x"}]),
            "so the job cannot be `irreversible`",
        ),
        (json!([{"job": {"template": "a"}, "irreversible": "x"}]), "write NAMESPACE/NAME"),
        (
            json!([{"job": {"manifest": {}}, "irreversible": "x"}]),
            "metadata.namespace must name the namespace of the Job",
        ),
        (json!([{"job": {"manifest": manifest, "env": {"A B": "x"}}, "irreversible": "x"}]), "no name of a variable"),
        (json!([{"job": job, "irreversible": "x"}, set]), "set-2 can be undone but follows job-1, which cannot"),
        (json!([{"wait": {"until": {"field": "status.levle", "is": "a"}}}]), "wait.until: status.levle"),
        (json!([{"wait": {"until": {"field": "status.level", "is": "a"}, "timeout": "soon"}}]), "is not a duration"),
    ];
    refused(&cases);
    let twice = json!({"set": {"fields": {"spec.lock": "{to}"}}, "irreversible": "it stays"});
    for fine in
        [json!([set, wait, {"job": job, "irreversible": "x"}, wait]), json!([{"job": job, "irreversible": "x"}, twice])]
    {
        defined(&fine).unwrap();
    }
}
