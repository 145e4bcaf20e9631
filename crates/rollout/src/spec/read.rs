//! Reads StagedRollouts.

use serde_json::Value;

use super::bad_rollout::BadRollout;
use super::compiler::RolloutCompiler;
use super::document::RolloutDocument;
use super::rollout::Rollout;
use pointsman_core::definition::Kind;

/// The kind in a StagedRollout, as spelled there. `file` is the name for messages.
///
/// # Errors
/// [`BadRollout`]: the document is not a StagedRollout.
pub fn rolled_kind(file: &str, text: &str) -> Result<String, BadRollout> {
    RolloutDocument::read(file, text).map(|document| document.spec.value.kind)
}

/// Reads a StagedRollout, as YAML or JSON, and checks it against the definition of its kind.
///
/// # Errors
/// [`BadRollout`]: all errors found.
pub fn read_rollout(file: &str, text: &str, kind: &Kind) -> Result<Rollout, BadRollout> {
    RolloutCompiler::new(file, kind).compile(&RolloutDocument::read(file, text)?)
}

/// Reads a StagedRollout returned by the API server.
///
/// # Errors
/// [`BadRollout`].
pub fn answered_rollout(document: &Value, kind: &Kind) -> Result<Rollout, BadRollout> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    read_rollout(&format!("rollout {name}"), &document.to_string(), kind)
}
