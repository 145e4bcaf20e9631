//! A Job that a step runs.

use std::time::Duration;

use serde_json::{Value, json};

use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::Gate;

/// A Job, and its completion condition.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowJob {
    /// The manifest of the Job.
    pub(crate) source: JobSource,
    /// Environment variables of its containers. Values may contain placeholders such as `{name}`.
    pub(crate) env: Vec<(String, String)>,
    /// The condition of the object that marks the work as complete, regardless of the cause.
    pub(crate) until: Option<Gate>,
    /// The time limit.
    pub(crate) timeout: Option<Duration>,
}

/// The source of the manifest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum JobSource {
    /// A ConfigMap with the manifest under the key `job`.
    Template {
        /// The namespace of the ConfigMap.
        namespace: String,
        /// The name of the ConfigMap.
        name: String,
    },
    /// The definition or the StagedRollout itself.
    Inline {
        /// The namespace of the Job.
        namespace: String,
        /// The manifest, without a name.
        manifest: Value,
    },
}

impl WorkflowJob {
    pub(super) fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        Self { until: self.until.as_ref().map(|until| until.filled(fill)), ..self.clone() }
    }

    /// The namespace of the Job.
    pub(crate) fn namespace(&self) -> &str {
        match &self.source {
            JobSource::Template { namespace, .. } | JobSource::Inline { namespace, .. } => namespace,
        }
    }
}

/// Returns why a manifest is no valid Job for a step.
pub(crate) fn bad_manifest(manifest: &Value) -> Option<String> {
    let text = |path: &str| manifest.pointer(path).and_then(Value::as_str).unwrap_or_default();
    if (text("/apiVersion"), text("/kind")) != ("batch/v1", "Job") {
        return Some(format!(
            "the object is {} {}, and must be batch/v1 Job",
            excerpt(text("/apiVersion")),
            excerpt(text("/kind"))
        ));
    }
    let containers = manifest.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        return Some("spec.template.spec.containers is empty".to_owned());
    }
    if manifest.pointer("/spec/manualSelector").is_some_and(|manual| *manual != json!(false)) {
        return Some("spec.manualSelector: every Job selects its own Pods".to_owned());
    }
    None
}
