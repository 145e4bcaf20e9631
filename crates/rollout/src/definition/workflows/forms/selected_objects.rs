//! Steps on objects that are selected by a list or by names, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::time_limit::time_limit;
use crate::definition::workflows::object_step::{ObjectAction, ObjectStep};
use crate::definition::workflows::selected_objects::{IfAny, ListWait, NamedDeletion, Touch};
use crate::definition::workflows::step_object::name_template;
use crate::definition::workflows::step_place::StepPlace;
use pointsman_core::apimachinery::{ResourceName, is_dns_label};
use pointsman_core::definition::{GateSpec, foreign_gate};

/// Writes objects without changes until a mutation has applied the state after the fact.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowReadmit")]
pub(in crate::definition::workflows) struct ReadmitSpec {
    /// Plural and group of the objects, such as `deployments.apps`.
    resource: String,
    /// The names.
    names: Vec<String>,
    /// The namespace, such as `{name}`. Omit for cluster-scoped objects.
    namespace: Option<String>,
    /// The mutation for the objects, from the definition of the resource.
    mutation: String,
    /// The time limit, such as `10m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
}

/// A list that must not be empty. Otherwise the step is skipped for the object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "IfAny")]
pub(in crate::definition::workflows) struct IfAnySpec {
    /// Plural and group, such as `controlplanes.example.com`.
    list: String,
    /// The namespace, such as `{name}`. Defaults to all namespaces, or none for cluster-scoped objects.
    namespace: Option<String>,
}

/// Compiles a wait for every object of a list.
pub(in crate::definition::workflows) fn list_wait(
    list: &str,
    place: Option<StepPlace>,
    every: Option<&GateSpec>,
    bad: &mut Vec<String>,
) -> Option<ObjectAction> {
    let resource = ResourceName::parse(list).map_err(|why| bad.push(format!("wait: list: {why}"))).ok();
    let Some(every) = every else {
        bad.push("wait: a `list` needs `every`: the condition of each object".to_owned());
        return None;
    };
    let every = foreign_gate(every, |why| bad.push(format!("wait.every: {why}")));
    Some(ObjectAction::WaitForAll(Box::new(ListWait { resource: resource?, place: place?, every: every? })))
}

/// Compiles a deletion by name.
pub(in crate::definition::workflows) fn named_deletion(
    resource: &str,
    texts: &[String],
    place: Option<StepPlace>,
    when: Option<&GateSpec>,
    irreversible: Option<&str>,
    bad: &mut Vec<String>,
) -> Option<ObjectAction> {
    if irreversible.is_none() {
        bad.push("delete: these objects are not recreated: set `irreversible` with a reason".to_owned());
    }
    let resource = ResourceName::parse(resource).map_err(|why| bad.push(format!("delete: {why}"))).ok();
    let names = names(texts, "delete", bad);
    let when = match when {
        Some(when) => Some(foreign_gate(when, |why| bad.push(format!("delete.when: {why}")))?),
        None => None,
    };
    Some(ObjectAction::DeleteNamed(Box::new(NamedDeletion { resource: resource?, names, place: place?, when })))
}

impl ReadmitSpec {
    pub(in crate::definition::workflows) fn compile(
        &self,
        irreversible: Option<&str>,
        bad: &mut Vec<String>,
    ) -> Option<ObjectStep> {
        let timeout = time_limit(self.timeout.as_deref(), bad);
        if irreversible.is_none() {
            bad.push("readmit: a mutation cannot be undone: set `irreversible` with a reason".to_owned());
        }
        if !is_dns_label(&self.mutation) {
            bad.push(format!("readmit: {:?} is no name of a mutation", self.mutation));
        }
        let resource = ResourceName::parse(&self.resource).map_err(|why| bad.push(format!("readmit: {why}"))).ok();
        let names = names(&self.names, "readmit", bad);
        let place = StepPlace::compile(None, self.namespace.as_deref(), |why| bad.push(format!("readmit: {why}")));
        let readmission = Touch { resource: resource?, names, place: place?, mutation: self.mutation.clone() };
        Some(ObjectStep { act: ObjectAction::Readmit(Box::new(readmission)), timeout })
    }
}

impl IfAnySpec {
    pub(in crate::definition::workflows) fn compile(&self, bad: &mut Vec<String>) -> Option<IfAny> {
        let resource = ResourceName::parse(&self.list).map_err(|why| bad.push(format!("ifAny: list: {why}"))).ok();
        let place = StepPlace::compile(None, self.namespace.as_deref(), |why| bad.push(format!("ifAny: {why}")));
        Some(IfAny { resource: resource?, place: place? })
    }
}

/// Names of objects, without duplicates.
fn names(texts: &[String], what: &str, bad: &mut Vec<String>) -> Vec<String> {
    if texts.is_empty() {
        bad.push(format!("{what}: names no object"));
    }
    distinct(texts, what, name_template, bad)
}

/// Parsed texts, without duplicates. `what` begins each error.
pub(super) fn distinct<T: PartialEq>(
    texts: &[String],
    what: &str,
    parse: impl Fn(&str) -> Result<T, String>,
    bad: &mut Vec<String>,
) -> Vec<T> {
    let mut found = Vec::new();
    for text in texts {
        match parse(text) {
            Ok(one) if found.contains(&one) => bad.push(format!("{what}: {text} is named twice")),
            Ok(one) => found.push(one),
            Err(why) => bad.push(format!("{what}: {why}")),
        }
    }
    found
}
