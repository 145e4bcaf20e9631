//! The definition file as it is written. The JSON Schema is generated from the doc comments of these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use super::problems::{Problems, line};
use super::replaces::ReplacesSpec;
use super::rollout_hash::{HashSpec, StatusMappingSpec};
use super::rollout_parts::{checks_schema, health_schema, workflows_schema};
use super::{admission::AdmissionSpec, step::StepSpec, yaml};

/// The `apiVersion` this build reads.
pub const API_VERSION: &str = "pointsman.dev/v1";
/// The `kind` of a definition file.
pub const KIND: &str = "KindDefinition";

/// Describes a kind: how its versions convert into each other, and which changes require a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "KindDefinition")]
pub(super) struct DefinitionSpec {
    /// Always `pointsman.dev/v1`.
    #[schemars(with = "String")]
    api_version: Spanned<String>,
    /// Always `KindDefinition`.
    #[schemars(with = "String")]
    kind: Spanned<String>,
    /// The name of this kind on the command line. Defaults to the kind in lower case.
    pub(super) name: Option<String>,
    /// The file of the CustomResourceDefinition, relative to this file. Group, names, versions and schemas are read
    /// from it.
    #[schemars(with = "String")]
    pub(super) crd: Spanned<String>,
    /// Refuses values of the definition that hide a value of the object. Without this key, `kinds check` warns of them.
    #[serde(default)]
    pub(super) strict: bool,
    /// The conversions between neighbouring versions, oldest first. Empty for a CRD with one version.
    #[serde(default)]
    #[schemars(with = "Vec<StepSpec>")]
    pub(super) steps: Vec<Spanned<StepSpec>>,
    /// The recipe of the rollout hash: the fields whose change requires a rollout.
    #[schemars(with = "Option<HashSpec>")]
    pub(super) rollout_hash: Option<Spanned<HashSpec>>,
    /// The fields of the status that describe a rollout in both versions. Requires `rolloutHash`.
    #[schemars(with = "Option<StatusMappingSpec>")]
    pub(super) rollout_status: Option<Spanned<StatusMappingSpec>>,
    /// The checks that apply when an object is written.
    #[schemars(with = "Option<AdmissionSpec>")]
    pub(super) admission: Option<Spanned<AdmissionSpec>>,
    /// The conditions of a healthy object, for rollouts.
    #[expect(dead_code, reason = "read by rollouts")]
    #[schemars(schema_with = "health_schema")]
    health: Option<IgnoredAny>,
    /// The checks that must pass before a rollout starts or continues.
    #[expect(dead_code, reason = "read by rollouts")]
    #[schemars(schema_with = "checks_schema")]
    checks: Option<IgnoredAny>,
    /// How objects of another kind are replaced by objects of this kind.
    #[schemars(with = "Option<ReplacesSpec>")]
    pub(super) replaces: Option<Spanned<ReplacesSpec>>,
    /// Additional steps of a rollout for each object, by the name of the workflow. Without a workflow, only the version
    /// label changes.
    #[serde(default)]
    #[expect(dead_code, reason = "read by rollouts")]
    #[schemars(schema_with = "workflows_schema")]
    workflows: BTreeMap<String, IgnoredAny>,
}

/// The head of a document, by which a definition is recognized.
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
                problems.add(at_line, "the file has another document here, but may hold only one definition");
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
}

/// Returns why a text is no definition at all. This error takes precedence over unknown keys.
fn no_definition(text: &str) -> Option<(u64, String)> {
    let head = yaml::read::<Head>(text).ok();
    if let Some(kind) = head.and_then(|head| head.kind).filter(|kind| kind.value != KIND) {
        return Some((line(&kind), format!("kind is {:?}, this build reads {KIND:?}", kind.value)));
    }
    text.trim().is_empty().then(|| (0, empty()))
}

fn empty() -> String {
    format!("is empty: begin with `apiVersion: {API_VERSION}` and `kind: {KIND}`")
}
