//! A Job of a step, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::time_limit::time_limit;
use crate::definition::workflows::job::{JobSource, WorkflowJob, bad_manifest};
use pointsman_core::apimachinery::{is_dns_label, is_dns_subdomain};
use pointsman_core::definition::{Gate, GateCompiler, GateSpec, Schema};

/// A Job: either `template` or `manifest`. The Job runs once. After a failure, a resumed rollout runs the Job again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "WorkflowJob")]
pub(crate) struct WorkflowJobSpec {
    /// Namespace and name of a ConfigMap, such as `kube-system/upgrade-kubelet`. Its key `job` contains the manifest of
    /// a Job, as YAML or JSON. The Job is created in the same namespace.
    template: Option<String>,
    /// The manifest, including its namespace.
    manifest: Option<Value>,
    /// Environment variables of all its containers. `{name}`, `{namespace}`, `{from}` and `{to}` stand for the object
    /// and the versions of the rollout.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The condition of the object after the work. If the condition already holds, no Job runs. Defaults to the
    /// completion of the Job.
    until: Option<GateSpec>,
    /// The time limit, such as `30m`. Defaults to the `timeout` of the StagedRollout.
    timeout: Option<String>,
    /// The Job for an undo of the step. Without such a Job, the step must set `irreversible`.
    undo: Option<Box<Self>>,
}

impl WorkflowJobSpec {
    /// Compiles the Job of a wave and its undo Job. They have no object.
    ///
    /// # Errors
    /// All problems, as sentences.
    pub(crate) fn compile_for_wave(&self) -> Result<(WorkflowJob, Option<WorkflowJob>), Vec<String>> {
        self.compile(None)
    }

    /// Compiles the Job and its undo Job. `schema` is that of the newest version. Without a schema there is no object.
    pub(in crate::definition::workflows) fn compile(
        &self,
        schema: Option<&Schema>,
    ) -> Result<(WorkflowJob, Option<WorkflowJob>), Vec<String>> {
        let mut bad = Vec::new();
        let job = self.one(schema, &mut bad);
        let undo = self.undo.as_ref().and_then(|undo| {
            if undo.undo.is_some() {
                bad.push("undo: cannot have another undo inside".to_owned());
            }
            let mut of_undo = Vec::new();
            let compiled = undo.one(schema, &mut of_undo);
            bad.extend(of_undo.into_iter().map(|why| format!("undo: {why}")));
            compiled
        });
        match job {
            Some(job) if bad.is_empty() => Ok((job, undo)),
            _ => Err(bad),
        }
    }

    /// Returns whether the Job has an undo Job.
    pub(crate) fn has_undo(&self) -> bool {
        self.undo.is_some()
    }

    fn one(&self, schema: Option<&Schema>, bad: &mut Vec<String>) -> Option<WorkflowJob> {
        let source = self.source().map_err(|why| bad.push(why)).ok();
        for name in self.env.keys().filter(|name| !is_variable(name)) {
            bad.push(format!("env: {name:?} is no name of a variable: use letters, digits and underscores"));
        }
        let until = self.gate(schema, bad);
        let timeout = time_limit(self.timeout.as_deref(), bad);
        let env = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Some(WorkflowJob { source: source?, env, until, timeout })
    }

    fn gate(&self, schema: Option<&Schema>, bad: &mut Vec<String>) -> Option<Gate> {
        let until = self.until.as_ref()?;
        let Some(schema) = schema else {
            bad.push("until: without objects, no gate can be evaluated".to_owned());
            return None;
        };
        let mut compiler = GateCompiler::templated(schema);
        let gate = compiler.gate(until);
        bad.extend(compiler.into_bad().into_iter().map(|why| format!("until: {why}")));
        gate
    }

    fn source(&self) -> Result<JobSource, String> {
        match (&self.template, &self.manifest) {
            (Some(template), None) => {
                let place = template.split_once('/');
                let place = place.filter(|(namespace, name)| is_dns_label(namespace) && is_dns_subdomain(name));
                let (namespace, name) =
                    place.ok_or_else(|| format!("template: {template:?} is no ConfigMap: write NAMESPACE/NAME"))?;
                Ok(JobSource::Template { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            (None, Some(manifest)) => {
                let namespace = manifest.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
                if !is_dns_label(namespace) {
                    return Err("manifest: metadata.namespace must name the namespace of the Job".to_owned());
                }
                match bad_manifest(manifest) {
                    Some(why) => Err(format!("manifest: {why}")),
                    None => Ok(JobSource::Inline { namespace: namespace.to_owned(), manifest: manifest.clone() }),
                }
            }
            _ => Err("a job needs either `template` or `manifest`".to_owned()),
        }
    }
}

/// Returns whether a name is a valid shell variable.
fn is_variable(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    !name.is_empty() && name.chars().all(is_sign) && !name.starts_with(|first: char| first.is_ascii_digit())
}
