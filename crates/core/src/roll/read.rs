//! Reads Rolls.

use serde_json::Value;

use super::bad_roll::BadRoll;
use super::compiler::RollCompiler;
use super::fleet_roll::FleetRoll;
use super::spec::RollDocument;
use crate::definition::Kind;

/// The name of the kind that a Roll is about, as it says it. `file` is its name in messages.
///
/// # Errors
/// [`BadRoll`]: it is no Roll.
pub fn rolled_kind(file: &str, text: &str) -> Result<String, BadRoll> {
    RollDocument::read(file, text).map(|document| document.spec.value.kind)
}

/// Reads a Roll, as YAML or JSON, and checks it against the definition of its kind.
///
/// # Errors
/// [`BadRoll`]: everything that is wrong with it.
pub fn read_roll(file: &str, text: &str, kind: &Kind) -> Result<FleetRoll, BadRoll> {
    RollCompiler::new(file, kind).compile(&RollDocument::read(file, text)?)
}

/// The same for one that an API server answered.
///
/// # Errors
/// [`BadRoll`].
pub fn answered_roll(document: &Value, kind: &Kind) -> Result<FleetRoll, BadRoll> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    read_roll(&format!("roll {name}"), &document.to_string(), kind)
}
