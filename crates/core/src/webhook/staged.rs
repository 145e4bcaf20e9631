//! What stages make of an object, as a JSON Patch against the object as it was sent.

use super::admission::Write;
use super::changes::changes;
use super::facts::{FactUnknown, KnownFacts};
use super::review::PatchOperation;
use crate::definition::{StagePhase, StagedKind};
use crate::json::Json;

/// The patch for an object that is created or updated: every stage that is about it, in the order of the definition.
/// An object that is being deleted is left alone; what a new one says of its own end does not count, as the API server
/// drops it.
pub(super) fn staged(
    kind: &StagedKind,
    write: &Write<'_>,
    facts: &KnownFacts,
) -> Result<Vec<PatchOperation>, FactUnknown> {
    if write.old.as_ref().is_some_and(|old| old.is_going()) {
        return Ok(Vec::new());
    }
    let object = write.new.json();
    let text = |member: &str| object.look(&["metadata", member]).and_then(|text| Some(text.as_str()?.into_owned()));
    let (namespace, name) = (text("namespace").unwrap_or_default(), text("name").unwrap_or_default());
    let mut made: Option<Json<'_>> = None;
    for stage in kind.stages.iter().filter(|stage| stage.selection.matches(object)) {
        let phase = match facts.of(&stage.name, &stage.fact, &namespace, &name) {
            Some(true) => StagePhase::After,
            Some(false) => StagePhase::Before,
            None => return Err(FactUnknown::new(&stage.name, &stage.fact.watched)),
        };
        stage.apply(phase, made.get_or_insert_with(|| object.clone()), &kind.pod);
    }
    Ok(made.map_or_else(Vec::new, |made| changes(object, &made)))
}
