//! The definition file as it is written. What each key means for a user is said in the types: the JSON Schema is made
//! from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::becomes::BecomesSpec;
use super::checks::ChecksSpec;
use super::healthy::HealthySpec;
use super::workflows::WorkflowStepSpec;
use super::problems::{Problems, line};
use super::rollout_hash::{HashSpec, StatusMappingSpec};
use super::{admission::AdmissionSpec, step::StepSpec, yaml};

/// The `apiVersion` this build reads.
pub const API_VERSION: &str = "pointsman.dev/v1";
/// The `kind` of a definition file.
pub const KIND: &str = "KindDefinition";

/// All that pointsman knows of a kind: how its versions convert into each other, and what calls for a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "KindDefinition")]
pub(super) struct DefinitionSpec {
    /// Always `pointsman.dev/v1`.
    #[schemars(with = "String")]
    api_version: Spanned<String>,
    /// Always `KindDefinition`.
    #[schemars(with = "String")]
    kind: Spanned<String>,
    /// What the command line calls this kind. Defaults to the kind in lower case.
    pub(super) name: Option<String>,
    /// The file of the CustomResourceDefinition, relative to this one. Group, names, versions and schemas come from it.
    #[schemars(with = "String")]
    pub(super) crd: Spanned<String>,
    /// How neighbouring versions convert, oldest first. A CRD with one version has none.
    #[serde(default)]
    #[schemars(with = "Vec<StepSpec>")]
    pub(super) steps: Vec<Spanned<StepSpec>>,
    /// The recipe of the rollout hash: the fields whose change requires a rollout.
    #[schemars(with = "Option<HashSpec>")]
    pub(super) rollout_hash: Option<Spanned<HashSpec>>,
    /// The fields of the status that describe a rollout in both versions. Requires `rolloutHash`.
    #[schemars(with = "Option<StatusMappingSpec>")]
    pub(super) rollout_status: Option<Spanned<StatusMappingSpec>>,
    /// What is checked when an object is written.
    #[schemars(with = "Option<AdmissionSpec>")]
    pub(super) admission: Option<Spanned<AdmissionSpec>>,
    /// What a healthy object looks like, for rollouts.
    #[schemars(with = "Option<HealthySpec>")]
    pub(super) healthy: Option<Spanned<HealthySpec>>,
    /// What a rollout must not begin, or go on, without.
    #[schemars(with = "Option<ChecksSpec>")]
    pub(super) checks: Option<Spanned<ChecksSpec>>,
    /// How objects of another kind become objects of this one.
    #[schemars(with = "Option<BecomesSpec>")]
    pub(super) becomes: Option<Spanned<BecomesSpec>>,
    /// What may happen to an object in a rollout, beside that its version label is changed: steps by the name of the
    /// workflow.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<WorkflowStepSpec>>")]
    pub(super) workflows: BTreeMap<String, Vec<Spanned<WorkflowStepSpec>>>,
}

/// What tells a definition from another document.
#[derive(Deserialize)]
struct Head {
    kind: Option<Spanned<String>>,
}

impl DefinitionSpec {
    pub(super) fn read(text: &str, problems: &mut Problems) -> Option<Self> {
        let spec: Self = match yaml::read_all::<Self>(text).map(|mut all| (all.pop(), all.len())) {
            Ok((Some(spec), 0)) => spec,
            Ok((Some(second), _)) => {
                let at_line = line(&second.api_version);
                problems.add(at_line, "another document begins here: a definition stands alone in its file");
                return None;
            }
            Ok((None, _)) => {
                problems.add(0, empty());
                return None;
            }
            Err(error) => {
                let (line, mut message) = no_definition(text).unwrap_or_else(|| yaml::explain(&error));
                if let Some(path) = yaml::unquoted_path(text, line) {
                    message = format!("quote the path in this mapping: '{path}' ({message})");
                }
                problems.add(line, message);
                return None;
            }
        };
        for (what, found, wanted) in [("apiVersion", &spec.api_version, API_VERSION), ("kind", &spec.kind, KIND)] {
            if found.value != wanted {
                problems.add(line(found), format!("{what} is {:?}, this build reads {wanted:?}", found.value));
            }
        }
        Some(spec)
    }

    /// The workflows of the text that this was read from, as they are written there, by name.
    pub(super) fn words_of_workflows(&self, text: &str) -> BTreeMap<String, Value> {
        if self.workflows.is_empty() {
            return BTreeMap::new();
        }
        yaml::read::<WorkflowWords>(text).map(|words| words.workflows).unwrap_or_default()
    }
}

/// Workflows, as they are written.
#[derive(Deserialize)]
struct WorkflowWords {
    workflows: BTreeMap<String, Value>,
}

/// Why a text that cannot be read is no definition at all, which matters more than its first key that nobody knows.
fn no_definition(text: &str) -> Option<(u64, String)> {
    let head = yaml::read::<Head>(text).ok();
    if let Some(kind) = head.and_then(|head| head.kind).filter(|kind| kind.value != KIND) {
        return Some((line(&kind), format!("kind is {:?}, this build reads {KIND:?}", kind.value)));
    }
    text.trim().is_empty().then(|| (0, empty()))
}

fn empty() -> String {
    format!("is empty: a definition begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`")
}
