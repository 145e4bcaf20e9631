//! The parts of a definition that only rollouts read: health, checks and workflows.

pub(crate) mod checks;
pub(crate) mod health;
pub(crate) mod rollout_versions;
pub(crate) mod workflows;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use checks::{Checks, ChecksSpec};
use health::{Health, HealthSpec};
use pointsman_core::definition::yaml::{Node, Spanned};
use pointsman_core::definition::{BadDefinition, Kind, Problems, json_schema};
use workflows::{Workflow, WorkflowStepSpec};

/// The parts of a definition that only rollouts read.
#[derive(Clone, Debug)]
pub(crate) struct RolloutDefinition {
    /// When a controller has processed an object, and with what result.
    pub(crate) health: Option<Health>,
    /// The health of an object of the source kind of a kind conversion.
    pub(crate) source_health: Option<Health>,
    /// The checks at the start of a rollout or wave.
    pub(crate) checks: Checks,
    /// The workflows that a rollout can name.
    pub(crate) workflows: Vec<Workflow>,
}

/// Checks the parts of a definition that only rollouts read: `health`, `checks` and `workflows`.
///
/// # Errors
/// All problems of these parts, each with its line.
pub fn check_definition(kind: &Kind) -> Result<(), BadDefinition> {
    RolloutDefinition::of(kind).map(drop)
}

/// The JSON Schema of a definition file, for editors.
#[must_use]
pub fn definition_schema() -> Value {
    let schema = Value::from(schemars::schema_for!(RolloutKeys));
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    json_schema(definitions)
}

impl RolloutDefinition {
    /// The parts of the definition of a kind.
    ///
    /// # Errors
    /// All problems of these parts, each with its line.
    pub(crate) fn of(kind: &Kind) -> Result<Self, BadDefinition> {
        let (file, document) = kind.definition();
        let mut problems = Problems::new(file);
        let found = Self::compile(kind, document, &mut problems);
        problems.into_result(found)
    }

    fn compile(kind: &Kind, document: &Node, problems: &mut Problems) -> Option<Self> {
        let keys: RolloutKeys = match document.read() {
            Ok(keys) => keys,
            Err(error) => {
                problems.add(error.line, error.message);
                return None;
            }
        };
        let (newest, becoming) = (kind.newest_schema(), kind.becoming());
        let source = becoming.map(|becoming| becoming.source_schema());
        let of_source = keys.replaces.and_then(|replaces| replaces.from.health);
        let mut health = |spec: Option<&Spanned<HealthSpec>>, schema| HealthSpec::compile(spec?, schema, problems);
        let source_health = source.and_then(|source| health(of_source.as_ref(), source));
        let health = health(keys.health.as_ref(), newest);
        let checks = ChecksSpec::compile(keys.checks.as_ref(), &kind.admission, problems);
        let namespaced = (kind.is_namespaced(), becoming.is_none_or(|becoming| becoming.bridge().is_namespaced()));
        let words = document.read::<WorkflowWords>().map(|words| words.workflows).unwrap_or_default();
        let workflows = workflows::compile(&keys.workflows, &words, newest, source, namespaced, problems);
        Some(Self { health, source_health, checks, workflows })
    }
}

/// The keys of a definition that only rollouts read.
#[derive(Deserialize, JsonSchema)]
struct RolloutKeys {
    health: Option<Spanned<HealthSpec>>,
    checks: Option<Spanned<ChecksSpec>>,
    #[serde(default)]
    workflows: BTreeMap<String, Vec<Spanned<WorkflowStepSpec>>>,
    /// Its schema is that of the core.
    #[schemars(skip)]
    replaces: Option<ReplacesKeys>,
}

#[derive(Deserialize)]
struct ReplacesKeys {
    from: SourceKeys,
}

#[derive(Deserialize)]
struct SourceKeys {
    health: Option<Spanned<HealthSpec>>,
}

/// The workflows as written.
#[derive(Deserialize)]
struct WorkflowWords {
    #[serde(default)]
    workflows: BTreeMap<String, Value>,
}
