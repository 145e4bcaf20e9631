//! The definition file as it is written. The JSON Schema is generated from the doc comments of these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::problems::Problems;
use super::replaces::ReplacesSpec;
use super::rollout_hash::{HashSpec, StatusMappingSpec};
use super::rollout_parts::{checks_schema, health_schema, workflows_schema};
use super::yaml::{self, Node, Spanned, YamlError};
use super::{admission::AdmissionSpec, step::StepSpec};

/// The `apiVersion` this build reads.
pub const API_VERSION: &str = "pointsman.dev/v1";
/// The `kind` of a definition file.
pub const KIND: &str = "KindDefinition";

/// Describes a kind: how its versions convert into each other, and which changes require a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "KindDefinition")]
pub(super) struct DefinitionSpec {
    /// Always `pointsman.dev/v1`.
    api_version: Spanned<String>,
    /// Always `KindDefinition`.
    kind: Spanned<String>,
    /// The name of this kind on the command line. Defaults to the kind in lower case.
    pub(super) name: Option<String>,
    /// The file of the CustomResourceDefinition, relative to this file. Group, names, versions and schemas are read
    /// from it.
    pub(super) crd: Spanned<String>,
    /// Refuses values of the definition that hide a value of the object. Without this key, `kinds check` warns of them.
    #[serde(default)]
    pub(super) strict: bool,
    /// The conversions between neighbouring versions, oldest first. Empty for a CRD with one version.
    #[serde(default)]
    pub(super) steps: Vec<Spanned<StepSpec>>,
    /// The recipe of the rollout hash: the fields whose change requires a rollout.
    pub(super) rollout_hash: Option<Spanned<HashSpec>>,
    /// The fields of the status that describe a rollout in both versions. Requires `rolloutHash`.
    pub(super) rollout_status: Option<Spanned<StatusMappingSpec>>,
    /// The checks that apply when an object is written.
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
    /// Reads a definition from its text, which is `document`.
    pub(super) fn read(text: &str, document: &Node, problems: &mut Problems) -> Option<Self> {
        let spec: Self = match document.read() {
            Ok(spec) => spec,
            Err(error) => {
                let error = advised(text, another_kind(document).unwrap_or(error));
                problems.add(error.line, error.message);
                return None;
            }
        };
        for (what, found, wanted) in [("apiVersion", &spec.api_version, API_VERSION), ("kind", &spec.kind, KIND)] {
            if found.value != wanted {
                problems.add(found.line, format!("{what} is {:?}, this build reads {wanted:?}", found.value));
            }
        }
        Some(spec)
    }
}

/// Returns why a document is no definition at all. This error takes precedence over unknown keys.
fn another_kind(document: &Node) -> Option<YamlError> {
    let kind = document.read::<Head>().ok()?.kind.filter(|kind| kind.value != KIND)?;
    let message = format!("kind is {:?}, this build reads {KIND:?}", kind.value);
    Some(YamlError { line: kind.line, message })
}

/// Adds the advice to quote a path, at an error in a line with a path without quotes.
fn advised(text: &str, error: YamlError) -> YamlError {
    match yaml::unquoted_path(text, error.line) {
        Some(path) => {
            let message = format!("quote the path in this mapping: '{path}' ({})", error.message);
            YamlError { message, ..error }
        }
        None => error,
    }
}

/// The only document of a definition file.
pub(super) fn only_document(text: &str, problems: &mut Problems) -> Option<Node> {
    let empty = || YamlError {
        line: 0,
        message: format!("is empty: begin with `apiVersion: {API_VERSION}` and `kind: {KIND}`"),
    };
    let document = yaml::parse_only(text, "definition").and_then(|document| document.ok_or_else(empty));
    document.map_err(|error| advised(text, error)).map_err(|error| problems.add(error.line, error.message)).ok()
}
