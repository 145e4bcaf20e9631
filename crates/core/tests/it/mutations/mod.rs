//! Staged mutation: exact results, laws over random mutations and objects, and definitions refused at load.

mod chance;
mod definitions;
mod exact;
mod gardener;
mod laws;
mod policies;
mod reviews;

use pointsman_core::definition::MutatedKind;
use pointsman_core::webhook::{FactValue, KnownFacts, Metadata, PatchOperation, Webhook};
use serde_json::{Value, json};

/// A definition for Deployments with one mutation and these operations.
fn definition(before: &str, after: &str) -> String {
    format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
         resource: {{group: apps, version: v1, kind: Deployment, plural: deployments}}\n\
         mutations:\n- name: moved\n  fact: {{resource: namespaces, name: '{{namespace}}', label: moved}}\n  \
         always: {before}\n  onceTrue: {after}\n"
    )
}

fn with_mutations(definition: &str) -> Webhook {
    let mutated = MutatedKind::load("mutations.yaml", definition).unwrap_or_else(|bad| panic!("{bad}\n{definition}"));
    Webhook::new(Vec::new(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap()
}

fn known(is: FactValue) -> KnownFacts {
    let mut facts = KnownFacts::default();
    facts.set("moved", is);
    facts
}

/// The patch of a write.
fn patch(webhook: &Webhook, is: FactValue, new: &str, old: Option<&str>) -> Vec<PatchOperation> {
    webhook.mutation(new, old, &known(is)).unwrap().expect("mutations of this kind").unwrap().0
}

/// A patch as JSON.
fn as_json(patch: &[PatchOperation]) -> Value {
    let operations = patch.iter().map(|operation| match operation.op {
        "remove" => json!({"op": "remove", "path": operation.path}),
        op => {
            let value: Value = serde_json::from_str(&operation.value).unwrap();
            json!({"op": op, "path": operation.path, "value": value})
        }
    });
    operations.collect()
}

/// The object after the webhook's patch, applied by an independent JSON Patch implementation.
fn replaces(webhook: &Webhook, is: FactValue, object: &Value) -> Value {
    let patch = as_json(&patch(webhook, is, &object.to_string(), None));
    let mut object = object.clone();
    let operations: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
    json_patch::patch(&mut object, &operations).unwrap_or_else(|error| panic!("{error}: {patch} on {object}"));
    object
}

/// A Deployment whose Pods have this spec.
fn deployment(name: &str, pod: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shoot--a"},
        "spec": {"replicas": 1, "template": {"spec": pod}},
    })
}
