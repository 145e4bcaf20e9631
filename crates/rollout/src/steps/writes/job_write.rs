//! Jobs of a workflow: names, manifests and observed states.

use serde_json::{Map, Value, json};

use crate::definition::workflows::{JobSource, WorkflowJob, bad_manifest};
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::steps::context::StepContext;
use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::yaml::parse;

/// A Job to create.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JobWrite {
    /// Its namespace.
    pub namespace: String,
    /// Its name, unique per attempt and step.
    pub name: String,
    /// The manifest.
    pub body: Value,
    /// The title of its object, or the wave name.
    pub of: String,
    /// The uid of that object.
    pub uid: String,
}

/// The observed state of a Job.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SeenJob {
    /// Unknown, with the reason.
    Unknown(String),
    Absent,
    Runs,
    Complete,
    Failed(String),
}

impl SeenJob {
    /// The state of a Job, given as `namespace/name`.
    pub(crate) fn of(title: &str, answers: &LookupResults) -> Self {
        match answers.of(&LookupRequest::about_job(title)) {
            None => Self::Unknown(format!("job {title} was not read yet")),
            Some(Err(why)) => Self::Unknown(format!("job {title} cannot be read: {why}")),
            Some(Ok(found)) => found.whole.as_ref().map_or(Self::Absent, Self::read),
        }
    }

    /// A message if a Job runs or its end is unknown; `None` if it has ended.
    pub(crate) fn under_way(title: &str, answers: &LookupResults) -> Option<String> {
        match Self::of(title, answers) {
            Self::Runs => Some(format!("job {title} still runs")),
            Self::Unknown(why) => Some(why),
            Self::Absent | Self::Complete | Self::Failed(_) => None,
        }
    }

    /// Source: `kubernetes pkg/apis/batch/types.go`, `JobConditionType`.
    fn read(job: &Value) -> Self {
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let text = |condition: &Value, name: &str| condition.get(name).and_then(Value::as_str).map(str::to_owned);
        let is = |condition: &&Value| text(condition, "status").as_deref() == Some("True");
        for condition in conditions.filter(is) {
            match text(condition, "type").as_deref() {
                Some("Complete") => return Self::Complete,
                Some("Failed") => {
                    let why = [text(condition, "reason"), text(condition, "message")];
                    return Self::Failed(excerpt(&why.into_iter().flatten().collect::<Vec<_>>().join(": ")));
                }
                _ => {}
            }
        }
        Self::Runs
    }
}

/// Renders a Job.
///
/// # Errors
/// A message, if its template is unreadable or not a Job.
pub(crate) fn job_write(
    context: StepContext<'_>,
    step: &str,
    job: &WorkflowJob,
    name: &str,
    answers: &LookupResults,
) -> Result<JobWrite, String> {
    let Value::Object(mut body) = manifest(job, answers)? else { return Err("the manifest is no object".to_owned()) };
    let namespace = job.namespace().to_owned();
    let mut metadata = taken(&mut body, "metadata");
    if metadata.get("namespace").and_then(Value::as_str).is_some_and(|other| other != namespace) {
        return Err(format!("the template names another namespace than {namespace}, the namespace of the ConfigMap"));
    }
    let (mut labels, mut annotations) = (taken(&mut metadata, "labels"), taken(&mut metadata, "annotations"));
    labels.insert("app.kubernetes.io/managed-by".to_owned(), json!("pointsman"));
    let description = format!("{}: {step} of {}", context.wave(), context.object.title());
    annotations.insert("pointsman.dev/step".to_owned(), json!(description));
    // Deleting the StagedRollout deletes its Jobs.
    let owner = json!({
        "apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "name": context.rollout.name, "uid": context.rollout.uid,
    });
    let metadata = json!({
        "name": name, "namespace": namespace, "labels": labels, "annotations": annotations, "ownerReferences": [owner],
    });
    body.insert("metadata".to_owned(), metadata);
    let mut spec = taken(&mut body, "spec");
    // A Job deleted after its end would be indistinguishable from one never created.
    spec.remove("ttlSecondsAfterFinished");
    spec.entry("backoffLimit").or_insert(json!(0));
    body.insert("spec".to_owned(), Value::Object(spec));
    let mut body = Value::Object(body);
    let env: Vec<(String, String)> =
        job.env.iter().map(|(name, value)| (name.clone(), context.filled_text(value))).collect();
    for list in ["initContainers", "containers"] {
        let containers = body.pointer_mut(&format!("/spec/template/spec/{list}")).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(|container| set_env(container, &env));
    }
    let (of, uid) = (context.object.title(), context.object.uid.clone());
    Ok(JobWrite { namespace, name: name.to_owned(), body, of, uid })
}

/// The error of a Job manifest, if invalid.
pub(crate) fn bad_template(job: &WorkflowJob, answers: &LookupResults) -> Option<String> {
    manifest(job, answers).err()
}

fn manifest(job: &WorkflowJob, answers: &LookupResults) -> Result<Value, String> {
    let (namespace, name) = match &job.source {
        JobSource::Inline { manifest, .. } => return Ok(manifest.clone()),
        JobSource::Template { namespace, name } => (namespace, name),
    };
    let title = format!("{namespace}/{name}");
    let found = match answers.of(&LookupRequest::about_template(&title)) {
        None => return Err(format!("the template, configmap {title}, was not read yet")),
        Some(Err(why)) => return Err(format!("the template, configmap {title}, cannot be read: {why}")),
        Some(Ok(found)) => {
            found.whole.as_ref().ok_or_else(|| format!("the template, configmap {title}, does not exist"))?
        }
    };
    let text = found.pointer("/data/job").and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("configmap {title} has no key `job`, which is to hold the manifest"))?;
    let manifest: Value = parse(text)
        .and_then(|node| node.read())
        .map_err(|error| format!("configmap {title}: `job` cannot be read: {}", excerpt(&error.to_string())))?;
    match bad_manifest(&manifest) {
        Some(why) => Err(format!("configmap {title}: `job`: {why}")),
        None => Ok(manifest),
    }
}

/// Sets variables of a container, replacing those of the same name.
fn set_env(container: &mut Value, env: &[(String, String)]) {
    let Some(container) = container.as_object_mut().filter(|_| !env.is_empty()) else { return };
    let list = container.entry("env").or_insert(json!([]));
    if let Some(list) = list.as_array_mut() {
        list.retain(|one| !env.iter().any(|(name, _)| one.get("name").and_then(Value::as_str) == Some(name)));
        // Ahead of the others: `$(NAME)` in a value refers to an earlier variable.
        list.splice(0..0, env.iter().map(|(name, value)| json!({"name": name, "value": value})));
    }
}

/// Removes an object member for changes; returns an empty object if it is missing.
fn taken(members: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match members.remove(name) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}
