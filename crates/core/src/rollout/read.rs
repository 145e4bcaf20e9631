//! Reads StagedRollouts.

use serde_json::Value;

use super::bad_rollout::BadRollout;
use super::compiler::RolloutCompiler;
use super::fleet_rollout::Rollout;
use super::spec::RolloutDocument;
use crate::definition::Kind;

/// The name of the kind that a StagedRollout is about, as it says it. `file` is its name in messages.
///
/// # Errors
/// [`BadRollout`]: it is no StagedRollout.
pub fn rolled_kind(file: &str, text: &str) -> Result<String, BadRollout> {
    RolloutDocument::read(file, text).map(|document| document.spec.value.kind)
}

/// Reads a StagedRollout, as YAML or JSON, and checks it against the definition of its kind.
///
/// # Errors
/// [`BadRollout`]: everything that is wrong with it.
pub fn read_rollout(file: &str, text: &str, kind: &Kind) -> Result<Rollout, BadRollout> {
    RolloutCompiler::new(file, kind).compile(&RolloutDocument::read(file, text)?)
}

/// The same for one that an API server answered.
///
/// # Errors
/// [`BadRollout`].
pub fn answered_rollout(document: &Value, kind: &Kind) -> Result<Rollout, BadRollout> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    read_rollout(&format!("rollout {name}"), &document.to_string(), kind)
}
