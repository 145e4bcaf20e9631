//! Steps that look at, or write, other objects, as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::object_step::{ObjectAction, ObjectStep, Recreation, WaitedFor};
use super::schemas::WorkflowSchemas;
use super::step_object::{StepObject, filled_name, name_template};
use super::step_place::{ElsewhereSpec, StepOnSpec, StepPlace};
use super::time_limit::time_limit;
use super::selected_objects_spec::{list_wait, named_deletion};
use crate::apimachinery::{Requirement, ResourceName, Selector, Wants, is_label_value, is_qualified_name};
use crate::definition::gates::{Gate, GateCompiler, GateSpec, foreign_gate};

/// What is waited for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowWait")]
pub(super) struct WaitSpec {
    /// Of which object: `source`, which is the one that the rollout is about and what is meant without it; `target`,
    /// which is what that becomes; or another one in its namespace, such as `deployments.apps/{name}`. With `list`, in
    /// which other cluster: `{cluster: {secret: NAME, namespace: NAME}}`.
    pub(super) on: Option<StepOnSpec>,
    /// Plural and group of objects, such as `nodes`, of each of which `every` has to hold. Where there is none of them,
    /// it does not.
    list: Option<String>,
    /// What has to hold of each of them, in the words of `healthy`.
    every: Option<GateSpec>,
    /// Their namespace, such as `{name}`. Without it those of all, or of none.
    namespace: Option<String>,
    /// What has to hold of the object, in the words of `healthy`. Values may be `{from}` and `{to}`.
    pub(super) until: Option<GateSpec>,
    /// All Pods of a Deployment are of its last template, and available. In place of `until`.
    pub(super) rolled_out: Option<bool>,
    /// How long that may take, such as `30m`. Defaults to the `timeout` of the StagedRollout.
    pub(super) timeout: Option<String>,
}

/// The object of the other kind is made, by what `becomes` says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowConvert")]
pub(super) struct ConvertSpec {
    /// How long that may take, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// A Deployment is made anew with another selector, by its own name, while its Pods go on to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowRecreate")]
pub(super) struct RecreateSpec {
    /// `deployments.apps`.
    resource: String,
    /// Its name, such as `{name}`.
    name: String,
    /// The labels by which it selects its Pods afterwards. Its template gets them in the place of those of the old
    /// selector.
    selector: BTreeMap<String, String>,
    /// Those by which it selects them before. With it an object that is gone can be made anew of what it has become,
    /// and gets such a Deployment again.
    #[serde(default)]
    was: BTreeMap<String, String>,
    /// How long that may take, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// What belongs to the object, by its owner references, belongs to what it has become.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowAdopt")]
pub(super) struct AdoptSpec {
    /// Plurals and groups, such as `services` and `deployments.apps`.
    resources: Vec<String>,
    /// How long that may take, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// Objects go: those with some labels, or the one that the rollout is about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowDelete")]
pub(super) struct DeleteSpec {
    /// `source`: the object that the rollout is about, the last step of its workflow. Nothing goes with it. Or, with
    /// `names`, in which other cluster: `{cluster: {secret: NAME, namespace: NAME}}`.
    on: Option<StepOnSpec>,
    /// Plural and group of objects, such as `replicasets.apps`: with `labels` those in its namespace.
    resource: Option<String>,
    /// Names of such objects. They are in `namespace`.
    #[serde(default)]
    names: Vec<String>,
    /// The namespace of those that are named, such as `{name}`. Without it they are in none.
    namespace: Option<String>,
    /// What holds of those that are to go, in the words of `healthy`. One that is named and of which it does not is
    /// left alone.
    when: Option<GateSpec>,
    /// Which of them, as `kubectl -l` takes it, such as `app={name}`. Those that somebody else controls are waited for.
    labels: Option<String>,
    /// Whoever controls them makes them again where somebody goes back: nothing has to undo it.
    made_again: Option<bool>,
    /// How long that may take, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

impl WaitSpec {
    /// Whether it is about a list.
    pub(super) fn is_of_list(&self) -> bool {
        self.list.is_some() || self.every.is_some() || self.namespace.is_some() || self.elsewhere().is_some()
    }

    fn elsewhere(&self) -> Option<&ElsewhereSpec> {
        self.on.as_ref().and_then(StepOnSpec::elsewhere)
    }

    /// A wait for every object of a list.
    pub(super) fn compile_list(&self, bad: &mut Vec<String>) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let is_of_object = self.on.as_ref().is_some_and(|on| on.object().is_some());
        let Some(list) = self.list.as_deref().filter(|_| !is_of_object) else {
            bad.push(
                "wait: `every`, `namespace` and another cluster go with a `list`, and `list` with no object".to_owned(),
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

    /// A wait for another object.
    pub(super) fn compile(
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
                bad.push("wait: has one of `until` and `rolledOut: true`".to_owned());
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
        let mut say = |why: String| bad.push(format!("wait.until: {why}"));
        let schema = match on {
            StepObject::Source => schemas.own,
            StepObject::Target => schemas.target,
            StepObject::Named { .. } => return foreign_gate(spec, say),
        };
        let mut compiler = GateCompiler::templated(schema);
        let gate = compiler.gate(spec);
        compiler.into_bad().into_iter().for_each(&mut say);
        gate
    }
}

impl ConvertSpec {
    pub(super) fn compile(&self, bad: &mut Vec<String>) -> ObjectStep {
        ObjectStep { act: ObjectAction::Convert, timeout: time_limit(self.timeout.as_deref(), bad) }
    }
}

impl RecreateSpec {
    pub(super) fn compile(&self, bad: &mut Vec<String>) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let mut say = |why: String| bad.push(format!("recreate: {why}"));
        let resource = ResourceName::parse(&self.resource).map_err(&mut say).ok();
        let name = name_template(&self.name).map_err(&mut say).ok();
        if resource.as_ref().is_some_and(|resource| !is_deployment(resource)) {
            say(format!("{} cannot be made anew without a gap: deployments.apps can", self.resource));
        }
        if !self.name.contains("{name}") || !self.selector.values().any(|value| value.contains("{name}")) {
            say("name, and a value of selector, have to hold {name}: others have such a Deployment as well".to_owned());
        }
        if !self.was.is_empty() && !self.was.values().any(|value| value.contains("{name}")) {
            say("a value of was has to hold {name}: others have such a Deployment as well".to_owned());
        }
        if self.was == self.selector {
            say("was and selector are the same: a Deployment that selects its Pods by them is not made anew".to_owned());
        }
        for (what, labels) in [("selector", &self.selector), ("was", &self.was)] {
            for (label, value) in labels {
                if !is_qualified_name(label) || !is_label_value(&filled_name(value)) {
                    say(format!("{what}: {label}: {value:?} is no label"));
                }
            }
        }
        let (selector, was) = (self.selector.clone(), self.was.clone());
        let recreation = Recreation { resource: resource?, name: name?, selector, was };
        Some(ObjectStep { act: ObjectAction::Recreate(Box::new(recreation)), timeout })
    }
}

impl AdoptSpec {
    pub(super) fn compile(&self, bad: &mut Vec<String>) -> ObjectStep {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        if self.resources.is_empty() {
            bad.push("adopt: names no resource".to_owned());
        }
        let mut resources: Vec<ResourceName> = Vec::new();
        for text in &self.resources {
            match ResourceName::parse(text) {
                Ok(resource) if resources.contains(&resource) => bad.push(format!("adopt: {text} is named twice")),
                Ok(resource) => resources.push(resource),
                Err(why) => bad.push(format!("adopt: {why}")),
            }
        }
        ObjectStep { act: ObjectAction::Adopt(resources), timeout }
    }
}

impl DeleteSpec {
    /// Whether it is about the object that the rollout is about.
    pub(super) fn is_of_source(&self) -> bool {
        self.on.as_ref().is_some_and(|on| on.object().is_some())
    }

    /// `irreversible` is why the step cannot be undone.
    pub(super) fn compile(&self, irreversible: Option<&str>, bad: &mut Vec<String>) -> Option<ObjectStep> {
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
            bad.push("delete: `namespace`, `when` and another cluster go with `names`".to_owned());
        }
        let act = match (on, &self.resource, &self.labels) {
            (Some("source"), None, None) => {
                if irreversible.is_none() {
                    bad.push("delete: an object that is gone is gone: say `irreversible`, and why".to_owned());
                }
                if self.made_again.is_some() {
                    bad.push("delete: nobody makes the source again: leave out `madeAgain`".to_owned());
                }
                ObjectAction::DeleteSource
            }
            (None, Some(resource), Some(labels)) => self.labelled(resource, labels, irreversible, bad)?,
            _ => {
                bad.push("delete: has `on: source`, or a `resource` and one of `labels` and `names`".to_owned());
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
                "delete: `names` go with a `resource`, and with no `labels`, `madeAgain` or `on: source`".to_owned(),
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
                "delete: say `madeAgain: true` where whoever controls these objects makes them again, or why it is \
                 `irreversible`"
                    .to_owned(),
            ),
            (true, Some(_)) => bad.push("delete: what is `madeAgain` is not `irreversible`".to_owned()),
            _ => {}
        }
        match Selector::parse(&filled_name(&labels.replace("{name}", MARK))) {
            Ok(selector) if selector.requirements.iter().any(is_of_name) => {}
            Ok(_) => bad.push(format!(
                "delete: labels: {labels:?} would take objects of others as well: it has to ask for a label whose value \
                 holds {{name}}"
            )),
            Err(why) => bad.push(format!("delete: labels: {why}")),
        }
        if self.made_again.unwrap_or_default() && !["pods", "replicasets.apps"].contains(&resource) {
            bad.push(format!(
                "delete: nobody is known to make {resource} again: `madeAgain` is for pods and replicasets.apps"
            ));
        }
        let resource = ResourceName::parse(resource).map_err(|why| bad.push(format!("delete: {why}"))).ok()?;
        Some(ObjectAction::DeleteLabelled { resource, labels: labels.to_owned() })
    }
}

/// Whether a requirement holds of the objects of one name alone.
fn is_of_name(requirement: &Requirement) -> bool {
    matches!(&requirement.wants, Wants::In(values) if values.iter().all(|value| value.contains(MARK)))
}

/// What stands in the place of a name in checks, and in nothing that anybody writes.
const MARK: &str = "pointsman-name";

fn is_deployment(resource: &ResourceName) -> bool {
    (resource.plural.as_str(), resource.group.as_str()) == ("deployments", "apps")
}
