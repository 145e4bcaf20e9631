//! Workflows, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::job::WorkflowJobSpec;
use super::object_step::{AdoptSpec, ConvertSpec, DeleteSpec, RecreateSpec, WaitSpec};
use super::schemas::WorkflowSchemas;
use super::selected_objects::{IfAnySpec, ReadmitSpec};
use super::time_limit::time_limit;
use crate::definition::workflows::object_step::{ObjectAction, ObjectStep};
use crate::definition::workflows::step_object::StepObject;
use crate::definition::workflows::step_place::StepOnSpec;
use crate::definition::workflows::workflow::{OF_LABELS, REWRITE, Workflow, WorkflowAct, WorkflowStep};
use pointsman_core::apimachinery::{is_dns_label, is_qualified_name};
use pointsman_core::definition::yaml::Spanned;
use pointsman_core::definition::{Gate, GateCompiler, GateSpec, Path, Problems, Schema};

/// A step: one of `when`, `set`, `unset`, `wait`, `job`, `convert`, `recreate`, `adopt`, `delete` and `readmit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowStep")]
pub(crate) struct WorkflowStepSpec {
    /// The name in messages. Defaults to its action and its position, such as `set-1`.
    name: Option<String>,
    /// Selects the objects of the workflow. Only allowed as the first step. Other objects are skipped.
    when: Option<GateSpec>,
    /// Sets fields of the object. Reverted by restoring the previous values.
    set: Option<SetStepSpec>,
    /// Removes fields of the object. Reverted by restoring the previous values.
    unset: Option<UnsetStepSpec>,
    /// Waits until a condition holds for the object, or for another object.
    wait: Option<WaitSpec>,
    /// Runs a Job.
    job: Option<WorkflowJobSpec>,
    /// Creates the object of the other kind, and deletes the created object on undo.
    convert: Option<ConvertSpec>,
    /// Recreates a Deployment with another selector. Reverted in the same way.
    recreate: Option<RecreateSpec>,
    /// Moves the dependents of the object to the replacement, and back on undo.
    adopt: Option<AdoptSpec>,
    /// Deletes objects.
    delete: Option<DeleteSpec>,
    /// Writes objects without changes until a mutation has applied the state after the fact.
    readmit: Option<ReadmitSpec>,
    /// Skips the step for an object if this list is empty. Allowed for `wait`, `delete` and `readmit`.
    if_any: Option<IfAnySpec>,
    /// The reason why the step cannot be reverted. A rollout must accept the step by name.
    irreversible: Option<String>,
}

/// Fields and their values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowSet")]
pub(in crate::definition::workflows) struct SetStepSpec {
    /// `source`, the object of the rollout. This is the default.
    on: Option<String>,
    /// Values by field of the newest version. In texts, `{name}`, `{namespace}`, `{from}` and `{to}` stand for the
    /// object and the versions of the rollout.
    fields: BTreeMap<String, Value>,
}

/// Removed fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowUnset")]
pub(in crate::definition::workflows) struct UnsetStepSpec {
    /// Fields of the newest version.
    fields: Vec<String>,
}

/// Checks the workflows of a definition against the schema of the newest version, and against that of the source kind
/// of a kind conversion. `namespaced` is whether the objects of the two kinds are namespaced. `words` are the workflows
/// as written.
pub(in crate::definition) fn compile(
    specs: &BTreeMap<String, Vec<Spanned<WorkflowStepSpec>>>,
    words: &BTreeMap<String, Value>,
    newest: &Schema,
    source: Option<&Schema>,
    namespaced: (bool, bool),
    problems: &mut Problems,
) -> Vec<Workflow> {
    let compiled = specs.iter().map(|(name, steps)| {
        let at_line = steps.first().map(|step| step.line).unwrap_or_default();
        if !is_dns_label(name) {
            problems
                .add(at_line, format!("workflows: {name:?} is no name: use lower case letters, digits and hyphens"));
        }
        if BUILT_IN.contains(&name.as_str()) {
            problems.add(at_line, format!("workflows: {name} exists already: choose another name"));
        }
        let is_of_source = steps.iter().any(|step| step.value.is_of_two_kinds());
        if is_of_source && source.is_none() {
            problems.add(
                at_line,
                format!("workflows.{name}: moves replaced objects, but the definition has no `replaces`"),
            );
        }
        let own = source.filter(|_| is_of_source).unwrap_or(newest);
        let workflow = workflow(name, steps, WorkflowSchemas { own, target: newest }, problems);
        let is_namespaced = namespaced.0 && (namespaced.1 || !is_of_source);
        let is_of_namespace =
            |step: &WorkflowStep| step.object_step().is_some_and(|object_step| object_step.act.is_of_namespace());
        if !is_namespaced && workflow.steps.iter().any(is_of_namespace) {
            problems.add(
                at_line,
                format!("workflows.{name}: objects of this kind are cluster-scoped, so other objects need a namespace"),
            );
        }
        let Some(words) = words.get(name).cloned() else {
            problems.add(at_line, format!("workflows.{name}: cannot be encoded as JSON, the form that rollouts store"));
            return workflow;
        };
        Workflow { is_of_source, words, ..workflow }
    });
    compiled.collect()
}

fn workflow(
    name: &str,
    specs: &[Spanned<WorkflowStepSpec>],
    schemas: WorkflowSchemas<'_>,
    problems: &mut Problems,
) -> Workflow {
    let (name_of, words) = (name.to_owned(), Value::Null);
    let mut workflow = Workflow { name: name_of, when: None, is_of_source: false, steps: Vec::new(), words };
    let mut names: Vec<String> = Vec::new();
    let mut irreversible: Option<String> = None;
    for (at, spec) in specs.iter().enumerate() {
        let mut bad = Vec::new();
        let compiled = spec.value.compile(at, schemas, &mut bad);
        match compiled {
            Some(CompiledStep::When(_)) if at > 0 => bad.push("`when` must be the first step".to_owned()),
            Some(CompiledStep::When(gate)) => workflow.when = Some(gate),
            Some(CompiledStep::Step(step)) => {
                if names.contains(&step.name) {
                    bad.push(format!("two steps have the name {:?}", step.name));
                }
                names.push(step.name.clone());
                if let Some(before) = irreversible.as_ref().filter(|_| is_undoable(&step)) {
                    bad.push(format!(
                        "{} can be undone but follows {before}, which cannot: put the undoable step first, or mark the step as `irreversible`",
                        step.name
                    ));
                }
                irreversible = step.irreversible.as_ref().map(|_| step.name.clone()).or(irreversible);
                workflow.steps.push(*step);
            }
            None => {}
        }
        bad.into_iter().for_each(|why| problems.add(spec.line, format!("workflows.{name}: {why}")));
    }
    in_order(name, specs, &workflow, problems);
    if workflow.steps.is_empty() && specs.iter().all(|spec| spec.value.when.is_some()) {
        let at_line = specs.first().map(|spec| spec.line).unwrap_or_default();
        problems.add(at_line, format!("workflows.{name}: has no step"));
    }
    workflow
}

/// Checks the order of the steps.
fn in_order(name: &str, specs: &[Spanned<WorkflowStepSpec>], workflow: &Workflow, problems: &mut Problems) {
    let at_line = specs.first().map(|spec| spec.line).unwrap_or_default();
    let acts: Vec<(&str, &ObjectAction)> =
        workflow.steps.iter().filter_map(|step| Some((step.name.as_str(), &step.object_step()?.act))).collect();
    let converts = acts.iter().filter(|(_, act)| matches!(act, ObjectAction::Convert)).count();
    if converts > 1 {
        problems.add(at_line, format!("workflows.{name}: an object is converted once: remove one `convert`"));
    }
    let is_before = acts.iter().take_while(|(_, act)| !matches!(act, ObjectAction::Convert));
    for (step, _) in is_before.filter(|(_, act)| act.is_of_two_kinds()) {
        problems.add(
            at_line,
            format!("workflows.{name}: {step} uses the replacement of the object: put `convert` before this step"),
        );
    }
    let deletion = workflow.steps.iter().position(|step| {
        step.object_step().is_some_and(|object_step| matches!(object_step.act, ObjectAction::DeleteSource))
    });
    if let Some(after) = deletion.and_then(|deletion| workflow.steps.get(deletion + 1)) {
        problems.add(
            at_line,
            format!("workflows.{name}: {} follows the deletion of the object, which stores the progress", after.name),
        );
    }
}

/// A compiled step.
enum CompiledStep {
    When(Gate),
    Step(Box<WorkflowStep>),
}

/// Returns whether the revert takes a write.
fn is_undoable(step: &WorkflowStep) -> bool {
    let is_written = step.object_step().is_none_or(|object_step| object_step.act.is_undone_by_writes());
    step.irreversible.is_none() && is_written && !matches!(step.act, WorkflowAct::Wait { .. })
}

impl WorkflowStepSpec {
    /// Returns whether the step concerns a kind conversion.
    fn is_of_two_kinds(&self) -> bool {
        let on = self.wait.as_ref().and_then(|wait| wait.on.as_ref()).and_then(StepOnSpec::object);
        self.convert.is_some()
            || self.adopt.is_some()
            || self.delete.as_ref().is_some_and(DeleteSpec::is_of_source)
            || on == Some("target")
    }

    /// The actions of the step. There must be exactly one.
    fn words(&self) -> Vec<&'static str> {
        let words = [
            ("when", self.when.is_some()),
            ("set", self.set.is_some()),
            ("unset", self.unset.is_some()),
            ("wait", self.wait.is_some()),
            ("job", self.job.is_some()),
            ("convert", self.convert.is_some()),
            ("recreate", self.recreate.is_some()),
            ("adopt", self.adopt.is_some()),
            ("delete", self.delete.is_some()),
            ("readmit", self.readmit.is_some()),
        ];
        words.into_iter().filter(|(_, present)| *present).map(|(word, _)| word).collect()
    }

    fn compile(&self, at: usize, schemas: WorkflowSchemas<'_>, bad: &mut Vec<String>) -> Option<CompiledStep> {
        let present = self.words();
        let [word] = present.as_slice() else {
            bad.push(
                "a step needs one of `when`, `set`, `unset`, `wait`, `job`, `convert`, `recreate`, `adopt`, \
                     `delete` and `readmit`"
                    .to_owned(),
            );
            return None;
        };
        if self.if_any.is_some() && self.wait.is_none() && self.delete.is_none() && self.readmit.is_none() {
            bad.push(format!("{word}: `ifAny` is for `wait`, `delete` and `readmit`"));
        }
        let if_any = self.if_any.as_ref().and_then(|if_any| if_any.compile(bad));
        if let Some(when) = &self.when {
            return gate(when, "when", schemas.own, bad).map(CompiledStep::When);
        }
        let act = self.act(schemas, bad)?;
        let (name, irreversible) = (&self.name, &self.irreversible);
        let name = name.clone().unwrap_or_else(|| format!("{word}-{}", at + 1));
        if !is_dns_label(&name) {
            bad.push(format!("{name:?} is no name of a step: use lower case letters, digits and hyphens"));
        }
        if irreversible.as_ref().is_some_and(|why| why.trim().is_empty()) {
            bad.push(format!("{name}: irreversible: give a reason"));
        }
        if self.wait.is_some() && irreversible.is_some() {
            bad.push(format!("{name}: a wait needs no undo: remove `irreversible`"));
        }
        let step = WorkflowStep { name, act, irreversible: irreversible.clone(), if_any };
        if step.object_step().is_some_and(|object_step| object_step.act.is_undone_by_writes()) && irreversible.is_some()
        {
            bad.push(format!("{}: can be undone: leave out `irreversible`", step.name));
        }
        Some(CompiledStep::Step(Box::new(step)))
    }

    fn act(&self, schemas: WorkflowSchemas<'_>, bad: &mut Vec<String>) -> Option<WorkflowAct> {
        let object_step = |step: ObjectStep| WorkflowAct::OnObjects(Box::new(step));
        if let Some(set) = &self.set {
            return Some(WorkflowAct::Set(set.compile(schemas.own, bad)));
        }
        if let Some(unset) = &self.unset {
            return Some(WorkflowAct::Set(unset.compile(schemas.own, bad)));
        }
        if let Some(wait) = &self.wait {
            return wait_act(wait, schemas, bad);
        }
        if let Some(job) = &self.job {
            return job_act(job, self.irreversible.is_some(), schemas.own, bad);
        }
        if let Some(convert) = &self.convert {
            return Some(object_step(convert.compile(bad)));
        }
        if let Some(adopt) = &self.adopt {
            return Some(object_step(adopt.compile(bad)));
        }
        if let Some(recreate) = &self.recreate {
            return recreate.compile(bad).map(object_step);
        }
        if let Some(readmit) = &self.readmit {
            return readmit.compile(self.irreversible.as_deref(), bad).map(object_step);
        }
        self.delete.as_ref()?.compile(self.irreversible.as_deref(), bad).map(object_step)
    }
}

/// A wait for the object itself, or for another object.
fn wait_act(wait: &WaitSpec, schemas: WorkflowSchemas<'_>, bad: &mut Vec<String>) -> Option<WorkflowAct> {
    if wait.is_of_list() {
        return wait.compile_list(bad).map(|step| WorkflowAct::OnObjects(Box::new(step)));
    }
    let on = match wait.on.as_ref().and_then(StepOnSpec::object).map(StepObject::parse) {
        Some(Ok(on)) => on,
        Some(Err(why)) => {
            bad.push(format!("wait: on: {why}"));
            return None;
        }
        None => StepObject::Source,
    };
    if on != StepObject::Source {
        return wait.compile(&on, schemas, bad).map(|step| WorkflowAct::OnObjects(Box::new(step)));
    }
    let (Some(until), None) = (&wait.until, wait.rolled_out) else {
        bad.push("wait: needs `until`; `rolledOut` is for deployments.apps".to_owned());
        return None;
    };
    Some(WorkflowAct::Wait {
        until: gate(until, "wait.until", schemas.own, bad)?,
        timeout: time_limit(wait.timeout.as_deref(), bad),
    })
}

fn gate(spec: &GateSpec, what: &str, schema: &Schema, bad: &mut Vec<String>) -> Option<Gate> {
    let mut compiler = GateCompiler::templated(schema);
    let gate = compiler.gate(spec);
    bad.extend(compiler.into_bad().into_iter().map(|why| format!("{what}: {why}")));
    gate
}

fn job_act(
    spec: &WorkflowJobSpec,
    is_irreversible: bool,
    schema: &Schema,
    bad: &mut Vec<String>,
) -> Option<WorkflowAct> {
    match (spec.has_undo(), is_irreversible) {
        (false, false) => bad.push("job: needs an `undo`, or the step needs `irreversible` with a reason".to_owned()),
        (true, true) => bad.push("job: has an `undo`, so the job cannot be `irreversible`".to_owned()),
        _ => {}
    }
    match spec.compile(Some(schema)) {
        Ok((job, undo)) => Some(WorkflowAct::Job { job: Box::new(job), undo: undo.map(Box::new) }),
        Err(more) => {
            bad.extend(more.into_iter().map(|why| format!("job: {why}")));
            None
        }
    }
}

impl SetStepSpec {
    fn compile(&self, schema: &Schema, bad: &mut Vec<String>) -> Vec<(Path, Option<Value>)> {
        if self.on.as_deref().is_some_and(|on| on != "source") {
            bad.push("set: on: only fields of the object itself are set, which is `source`".to_owned());
        }
        if self.fields.is_empty() {
            bad.push("set: names no field".to_owned());
        }
        let mut fields = Vec::new();
        for (text, value) in &self.fields {
            let Some((path, of)) = field("set", text, schema, bad) else { continue };
            let is_template = value.to_string().contains('{') && value.is_string();
            let is_metadata = of.is_none();
            if value.is_null() {
                bad.push(format!("set: {path} cannot be null: use `unset` to remove a field"));
            } else if is_metadata && !value.is_string() {
                bad.push(format!("set: {path} is a text, not {value}"));
            } else if of.is_some_and(|of| !is_template && !of.can_be(value)) {
                bad.push(format!("set: {path} can never be {value}"));
            }
            fields.push((path, Some(value.clone())));
        }
        apart(&fields, "set", bad);
        fields
    }
}

impl UnsetStepSpec {
    fn compile(&self, schema: &Schema, bad: &mut Vec<String>) -> Vec<(Path, Option<Value>)> {
        if self.fields.is_empty() {
            bad.push("unset: names no field".to_owned());
        }
        let found = self.fields.iter().filter_map(|text| field("unset", text, schema, bad));
        let fields: Vec<(Path, Option<Value>)> = found.map(|(path, _)| (path, None)).collect();
        for (path, _) in fields.iter().filter(|(path, _)| schema.requires(path)) {
            bad.push(format!("unset: {path} is required"));
        }
        apart(&fields, "unset", bad);
        fields
    }
}

/// Checks that fields of one write do not contain each other.
fn apart(fields: &[(Path, Option<Value>)], what: &str, bad: &mut Vec<String>) {
    for (at, (one, _)) in fields.iter().enumerate() {
        let others = fields.iter().enumerate().filter(|(other, _)| *other != at);
        if let Some((_, (other, _))) = others.into_iter().find(|(_, (other, _))| one.starts_with(other)) {
            bad.push(format!("{what}: {one} and {other} are nested: write the outer field only"));
        }
    }
}

/// A field that a step may write, with its schema. Without a schema, a label or an annotation.
fn field<'s>(what: &str, text: &str, schema: &'s Schema, bad: &mut Vec<String>) -> Option<(Path, Option<&'s Schema>)> {
    let path = Path::parse(text).map_err(|why| bad.push(format!("{what}: {why}"))).ok()?;
    let names: Vec<&str> = path.names().iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        ["metadata", "labels" | "annotations", key] => {
            if key.contains("pointsman.dev/") || !is_qualified_name(key) {
                bad.push(format!("{what}: {path} is no label or annotation of yours"));
            }
            Some((path.clone(), None))
        }
        ["spec", _, ..] => match schema.field(&path) {
            Ok(found) => Some((path.clone(), Some(found))),
            Err(why) => {
                bad.push(format!("{what}: {path}: the newest version has {why}"));
                None
            }
        },
        _ => {
            bad.push(format!(
                "{what}: {path} cannot be written by a step: fields below spec can, and metadata.labels[\"KEY\"] and \
                 metadata.annotations[\"KEY\"]; a status is the controller's"
            ));
            None
        }
    }
}

/// The workflows that every kind has.
const BUILT_IN: [&str; 2] = [OF_LABELS, REWRITE];
