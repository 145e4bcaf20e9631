//! The definition and the StagedRollout of a drawn history.

use pointsman_core::definition::Kind;
use serde_json::{Value, json};

use super::draw::{Draft, Drawn};

/// A kind of ships with the drawn workflows.
pub(super) fn kind(draft: &Draft) -> Kind {
    let mut workflows = json!({"first": steps(&draft.steps, "first", "{from}")});
    if !draft.more.is_empty() {
        let was = if draft.steps.iter().any(|step| step.raises()) { "{to}" } else { "{from}" };
        workflows["second"] = steps(&draft.more, "second", was);
    }
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: ships.crd.yaml\nhealth: {{all: [{{condition: Ready}}], \
         settle: 0s, seen: {{manager: bosun}}}}\nworkflows: {workflows}\n"
    );
    Kind::from_crd(&definition, CRD).unwrap_or_else(|error| panic!("{error}\n{workflows:#}"))
}

/// The undo of a Job restores the previous level: the initial level of the workflow, or the level of the previous Job.
fn steps(drawn: &[Drawn], workflow: &str, mut was: &'static str) -> Value {
    let mut steps = Vec::new();
    for step in drawn {
        steps.push(written(*step, workflow, was));
        was = if step.raises() { "{to}" } else { was };
    }
    Value::Array(steps)
}

impl Drawn {
    /// True if its Job changes the level.
    fn raises(self) -> bool {
        matches!(self, Self::Job | Self::Until | Self::Irreversible)
    }
}

fn job(level: &str, more: &Value) -> Value {
    let mut job = json!({"manifest": manifest(), "env": {"NODE": "{name}", "LEVEL": level}});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job
}

fn manifest() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "yard"},
        "spec": {"ttlSecondsAfterFinished": 0, "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}},
    })
}

fn written(step: Drawn, workflow: &str, was: &str) -> Value {
    let mut undo = job(was, &json!({}));
    undo["env"]["UNDOES"] = json!("yes");
    match step {
        Drawn::Lock => json!({"name": "lock", "set": {"fields": {"spec.lock": "{to}"}}}),
        Drawn::Deep => {
            let fields =
                json!({"spec.note.a.b": "{name}", "spec.note.a.c": "x", "metadata.labels[\"dock\"]": workflow});
            json!({"name": "deep", "set": {"fields": fields}})
        }
        Drawn::Unset => json!({"name": "unset", "unset": {"fields": ["spec.flag"]}}),
        Drawn::Wait => {
            json!({"name": "wait", "wait": {"until": {"field": "status.level", "is": "{to}"}, "timeout": "60s"}})
        }
        Drawn::Job => json!({"name": "job", "job": job("{to}", &json!({"undo": undo}))}),
        Drawn::Until => {
            let until = json!({"field": "status.level", "is": "{to}"});
            json!({"name": "until", "job": job("{to}", &json!({"undo": undo, "until": until}))})
        }
        Drawn::Irreversible => {
            json!({"name": format!("never-{workflow}"), "job": job("{to}", &json!({})), "irreversible": "it is for good"})
        }
    }
}

/// The StagedRollout.
pub(super) fn rollout(draft: &Draft) -> Value {
    let mut waves = Vec::new();
    if draft.canaries > 0 {
        waves.push(json!({"name": "canary", "selector": {"labels": "rollout=canary"}, "maxInFlight": 1}));
    }
    if let Some(undoable) = draft.run {
        let mut run = json!({"job": {"manifest": manifest(), "env": {"TO": "{to}"}}});
        if undoable {
            run["job"]["undo"] = json!({"manifest": manifest()});
        } else {
            run["irreversible"] = json!("it is for good");
        }
        waves.push(json!({"name": "between", "run": run}));
    }
    waves.push(json!({"name": "rest", "maxInFlight": draft.max_in_flight}));
    if !draft.more.is_empty() {
        waves.push(json!({"name": "again", "workflow": "second", "maxInFlight": draft.max_in_flight}));
    }
    let mut accept = Vec::new();
    accept.extend(draft.steps.contains(&Drawn::Irreversible).then_some("never-first"));
    accept.extend(draft.more.contains(&Drawn::Irreversible).then_some("never-second"));
    accept.extend((draft.run == Some(false)).then_some("between"));
    let spec = json!({
        "kind": "ship", "workflow": "first", "from": "v1", "to": "v2", "waves": waves, "timeout": "60s", "acceptedRisks": accept,
        "onFailure": draft.on_failure,
    });
    json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": "r", "uid": "rollout-1"}, "spec": spec})
}

pub(super) const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.example.com}
spec:
  group: example.com
  names: {kind: Ship, plural: ships}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              lock: {type: string}
              flag: {type: boolean}
              note:
                type: object
                properties:
                  other: {type: string}
                  a: {type: object, properties: {b: {type: string}, c: {type: string}}}
          status:
            type: object
            properties:
              level: {type: string}
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
"#;
