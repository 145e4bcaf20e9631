//! What stages make of an object, as a JSON Patch against the object as it was sent.

use super::admission::Write;
use super::changes::changes;
use super::facts::{FactUnknown, KnownFacts};
use super::review::PatchOperation;
use crate::apimachinery::excerpt;
use crate::definition::{Mutation, SETTLE_ROUNDS, MutationPhase, MutatedKind, namespace_and_name};
use crate::json::Json;

/// The patch for an object that is created or updated, and what its author is told: of every stage that is about it, in
/// the order of the definition. An object that is being deleted is left alone; what a new one says of its own end does
/// not count, as the API server drops it.
pub(super) fn mutated(
    kind: &MutatedKind,
    write: &Write<'_>,
    facts: &KnownFacts,
) -> Result<(Vec<PatchOperation>, Vec<String>), FactUnknown> {
    if write.old.as_ref().is_some_and(|old| old.is_going()) {
        return Ok((Vec::new(), Vec::new()));
    }
    let object = write.new.json();
    let mut made: Option<Json<'_>> = None;
    // What one stage makes may be a place for another one before it: all of them together have to come to rest.
    let mut warnings = Vec::new();
    for round in 0..SETTLE_ROUNDS {
        let was = made.as_ref().map(Json::to_text);
        let mut done = 0_usize;
        for mutation in &kind.mutations {
            if write.new.is_awaited().is_err() {
                // Nobody is told what was made so far.
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
        // A stage alone has come to rest by itself.
        if done < 2 || was == made.as_ref().map(Json::to_text) {
            break;
        }
    }
    Ok((made.map_or_else(Vec::new, |made| changes(object, &made)), warnings))
}

/// What whoever sent an object is told where a stage replaces or removes something of it.
fn replaced(mutation: &Mutation, sent: &Json<'_>, made: &Json<'_>) -> Option<String> {
    let all = changes(sent, made);
    let mut gone = all.iter().filter(|operation| operation.op != "add" && operation.op != "test");
    let path = excerpt(&gone.next()?.path);
    let others = match gone.count() {
        0 => String::new(),
        count => format!(", and {count} others"),
    };
    Some(format!("mutation {} replaces or removes what was sent: {path}{others}", mutation.name))
}

/// On which side of its fact a stage is, for an object.
fn phase(mutation: &Mutation, object: &Json<'_>, facts: &KnownFacts) -> Result<MutationPhase, FactUnknown> {
    let (namespace, name) = namespace_and_name(object);
    match facts.of(&mutation.name, &mutation.fact, &namespace, &name) {
        Some(true) => Ok(MutationPhase::After),
        Some(false) => Ok(MutationPhase::Before),
        None => Err(FactUnknown::new(&mutation.name, &mutation.fact.watched)),
    }
}
