//! Kinds of databases for rollouts.

use std::sync::LazyLock;

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_rollout::{Rollout, answered_rollout, check_definition};
use serde_json::{Value, json};

/// Kinds like [`KINDS`] that do not move while a lighthouse is dark, and two kinds whose controllers of both versions
/// share one field manager.
pub(crate) static CHECKED_KINDS: LazyLock<[[Kind; 2]; 2]> =
    LazyLock::new(|| [MANAGERS, ""].map(|managers| ["0s", "20s"].map(|settle| kind(settle, managers, CHECKS))));

/// Conditions on lighthouses before and during a rollout; conditions on buoys only before.
const CHECKS: &str = "checks:\n  start: [paths, &light {name: light, list: lighthouses.example.com, every: {condition: \
                      Lit}}, {name: fog, list: buoys.example.com, every: {condition: Seen}}]\n  during: [*light]\n";

/// Two kinds: one is healthy at once, the other must stay healthy for 20 s.
pub(crate) static KINDS: LazyLock<[Kind; 2]> = LazyLock::new(|| ["0s", "20s"].map(|settle| kind(settle, MANAGERS, "")));

/// A kind whose versions may follow each other in both directions.
fn kind(settle: &str, managers: &str, checks: &str) -> Kind {
    let healthy = format!("{{all: [{{condition: Ready}}], settle: {settle}, seen: {{manager: databaser}}}}\n{checks}");
    with_admission(&format!(", {CONTROLLERS}{managers}"), &healthy).unwrap()
}

/// How to distinguish the controllers of databases, and the database parts with a version of their own.
const CONTROLLERS: &str = "lease: {namespace: harbour, name: \"database-{version}\"}, observe: [{part: crew, label: \
                           example.com/controller-version}]";
const MANAGERS: &str = ", managers: {\"2.16.0\": oarsman, \"2.17.0\": databaser}";

/// A StagedRollout of databases to 2.17.0 with these spec members.
pub(crate) fn rollout_of(members: &Value) -> Rollout {
    rollout_called(("r", "rollout-1"), members)
}

/// Same as [`rollout_of`], with this name and uid.
pub(crate) fn rollout_called((name, uid): (&str, &str), members: &Value) -> Rollout {
    let mut spec = json!({"kind": "database", "to": "2.17.0"});
    spec.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let document = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": {"name": name, "uid": uid}, "spec": spec,
    });
    answered_rollout(&document, &KINDS[0]).unwrap()
}

/// A kind with another `health` block.
pub(crate) fn with_healthy(healthy: &str) -> Result<Kind, BadDefinition> {
    with_admission("", healthy)
}

/// A kind with extra lines in its `admission` block, besides the distinction of controllers.
fn with_admission(more: &str, healthy: &str) -> Result<Kind, BadDefinition> {
    let paths = "{all: {rules: [{from: \"*\", step: major, back: major}]}}";
    define(&format!("admission: {{versionPath: all, paths: {paths}{more}}}\nhealth: {healthy}\n"))
}

/// A kind with the rest of its definition.
pub(crate) fn define(rest: &str) -> Result<Kind, BadDefinition> {
    let crd = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  names: {kind: Database, plural: databases}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object}
          status:
            type: object
            properties:
              observedGeneration: {type: integer}
              phase: {type: string, enum: [Afloat, Sunk]}
              masts: {type: integer}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
"#;
    let definition = format!("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: databases.crd.yaml\n{rest}");
    let kind = Kind::from_crd(&definition, crd)?;
    check_definition(&kind).map(|()| kind)
}
