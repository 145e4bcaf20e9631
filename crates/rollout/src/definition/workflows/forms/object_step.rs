//! Steps that read or write other objects, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::schemas::WorkflowSchemas;
use super::selected_objects::{distinct, list_wait, named_deletion};
use super::time_limit::time_limit;
use crate::definition::workflows::object_step::{ObjectAction, ObjectStep, Recreation, WaitedFor};
use crate::definition::workflows::step_object::{StepObject, filled_name, name_template};
use crate::definition::workflows::step_place::{ElsewhereSpec, StepOnSpec, StepPlace};
use pointsman_core::apimachinery::{Requirement, ResourceName, Selector, Wants, is_label_value, is_qualified_name};
use pointsman_core::definition::{Gate, GateCompiler, GateSpec, foreign_gate};

/// A wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowWait")]
pub(in crate::definition::workflows) struct WaitSpec {
    /// The object: `source` (default), the object of the rollout; `target`, its replacement; or another object in its
    /// namespace, such as `deployments.apps/{name}`. With `list`, another cluster: `{cluster: {secret: NAME, namespace:
    /// NAME}}`.
    pub(in crate::definition::workflows) on: Option<StepOnSpec>,
    /// Plural and group of objects, such as `nodes`. `every` must hold for each of them. An empty list does not pass.
    list: Option<String>,
    /// The condition of each object, in the form of a health gate.
    every: Option<GateSpec>,
    /// The namespace of the list, such as `{name}`. Defaults to all namespaces, or none for cluster-scoped objects.
    namespace: Option<String>,
    /// The condition of the object, in the form of a health gate. Values may contain `{from}` and `{to}`.
    pub(in crate::definition::workflows) until: Option<GateSpec>,
    /// All Pods of a Deployment have the latest template and are available. In place of `until`.
    pub(in crate::definition::workflows) rolled_out: Option<bool>,
    /// The time limit, such as `30m`. Defaults to the `timeout` of the StagedRollout.
    pub(in crate::definition::workflows) timeout: Option<String>,
}

/// Creates the object of the other kind, by the kind conversion of the definition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowConvert")]
pub(in crate::definition::workflows) struct ConvertSpec {
    /// The time limit, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// Recreates a Deployment under the same name with another selector, while its Pods continue to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowRecreate")]
pub(in crate::definition::workflows) struct RecreateSpec {
    /// `deployments.apps`.
    resource: String,
    /// The name, such as `{name}`.
    name: String,
    /// The labels of the new selector, which replace the old labels in the template.
    selector: BTreeMap<String, String>,
    /// The labels of the old selector. With these labels, a deleted object can be recreated from its replacement, and
    /// gets such a Deployment again.
    #[serde(default)]
    was: BTreeMap<String, String>,
    /// The time limit, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// Moves the dependents of the object, by owner references, to its replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowAdopt")]
pub(in crate::definition::workflows) struct AdoptSpec {
    /// Plurals and groups, such as `services` and `deployments.apps`.
    resources: Vec<String>,
    /// The time limit, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// Deletes the objects with some labels, or the object of the rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowDelete")]
pub(in crate::definition::workflows) struct DeleteSpec {
    /// `source`: the object of the rollout, in the last step of its workflow. Its dependents are orphaned. With
    /// `names`, another cluster: `{cluster: {secret: NAME, namespace: NAME}}`.
    on: Option<StepOnSpec>,
    /// Plural and group of objects, such as `replicasets.apps`. With `labels`, those in the namespace of the object.
    resource: Option<String>,
    /// Names of such objects, in `namespace`.
    #[serde(default)]
    names: Vec<String>,
    /// The namespace of the named objects, such as `{name}`. Omit for cluster-scoped objects.
    namespace: Option<String>,
    /// The condition of an object that is deleted, in the form of a health gate. Other named objects are left
    /// unchanged.
    when: Option<GateSpec>,
    /// The label selector, in the syntax of `kubectl -l`, such as `app={name}`. Waits for objects with another
    /// controller.
    labels: Option<String>,
    /// The controller recreates the objects on undo, so that no revert is needed.
    made_again: Option<bool>,
    /// The time limit, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

impl WaitSpec {
    /// Returns whether the wait concerns a list.
    pub(in crate::definition::workflows) fn is_of_list(&self) -> bool {
        self.list.is_some() || self.every.is_some() || self.namespace.is_some() || self.elsewhere().is_some()
    }

    fn elsewhere(&self) -> Option<&ElsewhereSpec> {
        self.on.as_ref().and_then(StepOnSpec::elsewhere)
    }

    /// Compiles a wait for every object of a list.
    pub(in crate::definition::workflows) fn compile_list(&self, bad: &mut Vec<String>) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let is_of_object = self.on.as_ref().is_some_and(|on| on.object().is_some());
        let Some(list) = self.list.as_deref().filter(|_| !is_of_object) else {
            bad.push(
                "wait: `every`, `namespace` and another cluster need a `list`; `list` excludes an object".to_owned(),
            );
            return None;
        };
        if self.until.is_some() || self.rolled_out.is_some() {
            bad.push("wait: a `list` has an `every`, and no `until` or `rolledOut`".to_owned());
        }
        let namespace = self.namespace.as_deref();
        let place = StepPlace::compile(self.elsewhere(), namespace, |why| bad.push(format!("wait: {why}")));
        let act = list_wait(list, place, self.every.as_ref(), bad)?;
        Some(ObjectStep { act, timeout })
    }

    /// Compiles a wait for another object.
    pub(in crate::definition::workflows) fn compile(
        &self,
        on: &StepObject,
        schemas: WorkflowSchemas<'_>,
        bad: &mut Vec<String>,
    ) -> Option<ObjectStep> {
        let is_deployment = matches!(on, StepObject::Named { resource, .. } if is_deployment(resource));
        let until = match (&self.until, self.rolled_out) {
            (Some(gate), None) => WaitedFor::Gate(self.gate(gate, on, schemas, bad)?),
            (None, Some(true)) if is_deployment => WaitedFor::RolledOut,
            (None, Some(true)) => {
                bad.push("wait: only deployments.apps are rolled out".to_owned());
                return None;
            }
            _ => {
                bad.push("wait: needs either `until` or `rolledOut: true`".to_owned());
                return None;
            }
        };
        let timeout = time_limit(self.timeout.as_deref(), bad);
        Some(ObjectStep { act: ObjectAction::Wait { on: on.clone(), until }, timeout })
    }

    fn gate(
        &self,
        spec: &GateSpec,
        on: &StepObject,
        schemas: WorkflowSchemas<'_>,
        bad: &mut Vec<String>,
    ) -> Option<Gate> {
        let mut report = |why: String| bad.push(format!("wait.until: {why}"));
        let schema = match on {
            StepObject::Source => schemas.own,
            StepObject::Target => schemas.target,
            StepObject::Named { .. } => return foreign_gate(spec, report),
        };
        let mut compiler = GateCompiler::templated(schema);
        let gate = compiler.gate(spec);
        compiler.into_bad().into_iter().for_each(&mut report);
        gate
    }
}

impl ConvertSpec {
    pub(in crate::definition::workflows) fn compile(&self, bad: &mut Vec<String>) -> ObjectStep {
        ObjectStep { act: ObjectAction::Convert, timeout: time_limit(self.timeout.as_deref(), bad) }
    }
}

impl RecreateSpec {
    pub(in crate::definition::workflows) fn compile(&self, bad: &mut Vec<String>) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let mut report = |why: String| bad.push(format!("recreate: {why}"));
        let resource = ResourceName::parse(&self.resource).map_err(&mut report).ok();
        let name = name_template(&self.name).map_err(&mut report).ok();
        if resource.as_ref().is_some_and(|resource| !is_deployment(resource)) {
            report(format!("{} cannot be recreated without a gap: deployments.apps can", self.resource));
        }
        if !self.name.contains("{name}") || !self.selector.values().any(|value| value.contains("{name}")) {
            report(
                "name, and a value of selector, have to hold {name}: others have such a Deployment as well".to_owned(),
            );
        }
        if !self.was.is_empty() && !self.was.values().any(|value| value.contains("{name}")) {
            report("a value of was has to hold {name}: others have such a Deployment as well".to_owned());
        }
        if self.was == self.selector {
            report(
                "`was` and `selector` must differ: the Deployment is recreated only for another selector".to_owned(),
            );
        }
        for (what, labels) in [("selector", &self.selector), ("was", &self.was)] {
            for (label, value) in labels {
                if !is_qualified_name(label) || !is_label_value(&filled_name(value)) {
                    report(format!("{what}: {label}: {value:?} is no label"));
                }
            }
        }
        let (selector, was) = (self.selector.clone(), self.was.clone());
        let recreation = Recreation { resource: resource?, name: name?, selector, was };
        Some(ObjectStep { act: ObjectAction::Recreate(Box::new(recreation)), timeout })
    }
}

impl AdoptSpec {
    pub(in crate::definition::workflows) fn compile(&self, bad: &mut Vec<String>) -> ObjectStep {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        if self.resources.is_empty() {
            bad.push("adopt: names no resource".to_owned());
        }
        let resources = distinct(&self.resources, "adopt", ResourceName::parse, bad);
        ObjectStep { act: ObjectAction::Adopt(resources), timeout }
    }
}

impl DeleteSpec {
    /// Returns whether the step deletes the object of the rollout.
    pub(in crate::definition::workflows) fn is_of_source(&self) -> bool {
        self.on.as_ref().is_some_and(|on| on.object().is_some())
    }

    /// Compiles the step. `irreversible` is the reason why it cannot be reverted.
    pub(in crate::definition::workflows) fn compile(
        &self,
        irreversible: Option<&str>,
        bad: &mut Vec<String>,
    ) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let (on, elsewhere) = match &self.on {
            Some(on) => (on.object(), on.elsewhere()),
            None => (None, None),
        };
        if !self.names.is_empty() {
            let act = self.named(elsewhere, irreversible, bad)?;
            return Some(ObjectStep { act, timeout });
        }
        if self.namespace.is_some() || self.when.is_some() || elsewhere.is_some() {
            bad.push("delete: `namespace`, `when` and another cluster need `names`".to_owned());
        }
        let act = match (on, &self.resource, &self.labels) {
            (Some("source"), None, None) => {
                if irreversible.is_none() {
                    bad.push("delete: a deletion cannot be undone: set `irreversible` with a reason".to_owned());
                }
                if self.made_again.is_some() {
                    bad.push("delete: the source is never recreated: remove `madeAgain`".to_owned());
                }
                ObjectAction::DeleteSource
            }
            (None, Some(resource), Some(labels)) => self.labelled(resource, labels, irreversible, bad)?,
            _ => {
                bad.push("delete: needs `on: source`, or a `resource` with either `labels` or `names`".to_owned());
                return None;
            }
        };
        Some(ObjectStep { act, timeout })
    }

    fn named(
        &self,
        on: Option<&ElsewhereSpec>,
        irreversible: Option<&str>,
        bad: &mut Vec<String>,
    ) -> Option<ObjectAction> {
        let is_of_object = self.on.as_ref().is_some_and(|on| on.object().is_some());
        if is_of_object || self.labels.is_some() || self.made_again.is_some() {
            bad.push(
                "delete: `names` needs a `resource`, and excludes `labels`, `madeAgain` and `on: source`".to_owned(),
            );
        }
        let Some(resource) = self.resource.as_deref() else {
            bad.push("delete: `names` of which `resource`?".to_owned());
            return None;
        };
        let namespace = self.namespace.as_deref();
        let place = StepPlace::compile(on, namespace, |why| bad.push(format!("delete: {why}")));
        named_deletion(resource, &self.names, place, self.when.as_ref(), irreversible, bad)
    }

    fn labelled(
        &self,
        resource: &str,
        labels: &str,
        irreversible: Option<&str>,
        bad: &mut Vec<String>,
    ) -> Option<ObjectAction> {
        match (self.made_again.unwrap_or_default(), irreversible) {
            (false, None) => bad.push(
                "delete: set `madeAgain: true` if a controller recreates these objects, or set `irreversible` \
                     with a reason"
                    .to_owned(),
            ),
            (true, Some(_)) => bad.push("delete: `madeAgain` and `irreversible` exclude each other".to_owned()),
            _ => {}
        }
        match Selector::parse(&filled_name(&labels.replace("{name}", MARK))) {
            Ok(selector) if selector.requirements.iter().any(is_of_name) => {}
            Ok(_) => bad.push(format!(
                "delete: labels: {labels:?} would select objects of other installations: require a label with \
                     {{name}} in its value"
            )),
            Err(why) => bad.push(format!("delete: labels: {why}")),
        }
        if self.made_again.unwrap_or_default() && !["pods", "replicasets.apps"].contains(&resource) {
            bad.push(format!(
                "delete: no controller recreates {resource}: `madeAgain` supports pods and replicasets.apps"
            ));
        }
        let resource = ResourceName::parse(resource).map_err(|why| bad.push(format!("delete: {why}"))).ok()?;
        Some(ObjectAction::DeleteLabelled { resource, labels: labels.to_owned() })
    }
}

/// Returns whether a requirement matches only objects that contain the name.
fn is_of_name(requirement: &Requirement) -> bool {
    matches!(&requirement.wants, Wants::In(values) if values.iter().all(|value| value.contains(MARK)))
}

/// The value of the name in checks. No user writes it.
const MARK: &str = "pointsman-name";

fn is_deployment(resource: &ResourceName) -> bool {
    (resource.plural.as_str(), resource.group.as_str()) == ("deployments", "apps")
}
