//! The mutations of an object, as a JSON Patch against the object as sent.

use super::admission::Write;
use super::changes::changes;
use super::facts::{FactUnknown, KnownFacts};
use super::review::PatchOperation;
use crate::apimachinery::excerpt;
use crate::definition::{MutatedKind, Mutation, MutationPhase, SETTLE_ROUNDS, namespace_and_name};
use crate::json::Json;

/// Returns the patch for an object that is created or updated, and the warnings. Applies every matching mutation in the
/// order of the definition. Skips terminating objects. A `deletionTimestamp` on a new object is ignored, because the
/// API server removes it.
pub(super) fn mutated(
    kind: &MutatedKind,
    write: &Write<'_>,
    facts: &KnownFacts,
) -> Result<(Vec<PatchOperation>, Vec<String>), FactUnknown> {
    if write.old.as_ref().is_some_and(|old| old.is_terminating()) {
        return Ok((Vec::new(), Vec::new()));
    }
    let object = write.new.json();
    let mut made: Option<Json<'_>> = None;
    // A mutation may create a place for an earlier one, so repeat all until the object no longer changes.
    let mut warnings = Vec::new();
    for round in 0..SETTLE_ROUNDS {
        let was = made.as_ref().map(Json::to_text);
        let mut done = 0_usize;
        for mutation in &kind.mutations {
            if write.new.check_awaited().is_err() {
                // The client has disconnected, so the result is not used.
                return Ok((Vec::new(), Vec::new()));
            }
            let is = made.as_ref().unwrap_or(object);
            if !mutation.selection.matches(is) {
                continue;
            }
            let phase = phase(mutation, is, facts)?;
            let made = made.get_or_insert_with(|| object.clone());
            let sent = (round == 0).then(|| made.clone());
            mutation.apply(phase, made, &kind.pod);
            if let Some(sent) = sent {
                warnings.extend(replaced(mutation, &sent, made));
                warnings.extend(mutation.remarks(phase, made, &kind.pod));
            }
            done += 1;
        }
        // A single mutation has already settled.
        if done < 2 || was == made.as_ref().map(Json::to_text) {
            break;
        }
    }
    Ok((made.map_or_else(Vec::new, |made| changes(object, &made)), warnings))
}

/// A warning if a mutation replaces or removes a value of the client.
fn replaced(mutation: &Mutation, sent: &Json<'_>, made: &Json<'_>) -> Option<String> {
    let all = changes(sent, made);
    let mut replaced_paths = all.iter().filter(|operation| operation.op != "add" && operation.op != "test");
    let path = excerpt(&replaced_paths.next()?.path);
    let others = match replaced_paths.count() {
        0 => String::new(),
        count => format!(", and {count} others"),
    };
    Some(format!("mutation {} replaces or removes values of the request: {path}{others}", mutation.name))
}

/// The phase of a mutation for an object.
fn phase(mutation: &Mutation, object: &Json<'_>, facts: &KnownFacts) -> Result<MutationPhase, FactUnknown> {
    let (namespace, name) = namespace_and_name(object);
    match facts.of(&mutation.name, &mutation.fact, &namespace, &name) {
        Some(true) => Ok(MutationPhase::After),
        Some(false) => Ok(MutationPhase::Before),
        None => Err(FactUnknown::new(&mutation.name, &mutation.fact.watched)),
    }
}
