//! Labels and annotations of two objects, one of which was made of the other. Both have the same then; what somebody
//! changes of the one that goes later is carried to the one that stays, before it goes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::names::SHARED;
use super::object_write::ObjectCall;
use super::progress::{Beside, StepProgress};
use super::seen::{annotation, text};
use crate::definition::{ROLL_MANAGER, StepWay};
use crate::roll::shared_metadata::{PLACES, SharedMetadata, key, members};

/// What both had in common when one was made of the other, by what these say. `target` is the one of the kind that
/// comes.
fn shared(step: Beside<'_>, target: &Value) -> Option<SharedMetadata> {
    let again = step.traveller.object.mark_of(step.traveller.roll).and_then(|mark| mark.again.as_ref());
    let again = again.filter(|again| again.target == text(target, "/metadata/uid"));
    let again = again.and_then(|again| again.shared.clone());
    again.or_else(|| serde_json::from_str(annotation(target, SHARED)?).ok())
}

/// The patch by which the one that stays gets what somebody has changed of the one that goes: what an object has become
/// stays where its step is done, and the object itself where that is undone. Nothing where it has all of it.
pub(super) fn carried(step: Beside<'_>, goes: &Value, stays: &Value, way: StepWay) -> Option<StepProgress> {
    let pair = step.pair()?;
    let (kind, target) = match way {
        StepWay::Done => (&pair.target, stays),
        StepWay::Undone => (&pair.source, goes),
    };
    let shared = shared(step, target);
    let mut changes = Vec::new();
    for place in PLACES {
        let [old, new] = [goes, stays].map(|object| members(object, place));
        let names = [old, new].into_iter().flatten().flat_map(Map::keys).filter(|name| pair.shares(name));
        let names: BTreeSet<&String> = names.collect();
        for name in names {
            let [goes_with, stays_with] = [old, new].map(|members| members?.get(name)?.as_str());
            let is_to_go = goes_with != stays_with
                && match &shared {
                    // Nobody knows who has changed what: nothing of the one that stays is written over.
                    None => stays_with.is_none(),
                    Some(shared) => {
                        let key = key(place, name);
                        let is_old = shared.is(&key, stays_with);
                        // What was carried before is of the one that goes, and nobody's change of the one that stays.
                        let was_carried = || !is_old && is_carried((place, name), stays);
                        let is_later = || is_old || is_later((place, name), goes, stays);
                        was_carried() || (!shared.is(&key, goes_with) && is_later())
                    }
                };
            if is_to_go {
                changes.push((place, name.as_str(), stays_with, goes_with));
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    let patch = ObjectCall::Patch(patch(stays, &changes));
    Some(step.next(&kind.resource, Some(kind.version()), text(stays, "/metadata/name"), patch))
}

/// Whether what the first object says was written after what the other one says, as far as API servers tell.
fn is_later(member: (&str, &str), first: &Value, other: &Value) -> bool {
    let since = |object| writers(object, member).filter_map(|entry| entry.get("time")?.as_str()).max();
    since(first) > since(other)
}

/// Whether an object has a label or annotation from the other one, by whoever runs rolls, and nobody has written it
/// since.
fn is_carried(member: (&str, &str), object: &Value) -> bool {
    let mut writers = writers(object, member).peekable();
    let is_ours = |entry: &Value| entry.get("manager").and_then(Value::as_str) == Some(ROLL_MANAGER);
    writers.peek().is_some() && writers.all(is_ours)
}

/// Who has written a label or annotation of an object, as API servers tell it.
fn writers<'v>(object: &'v Value, (place, name): (&str, &str)) -> impl Iterator<Item = &'v Value> {
    let (place, name) = (format!("/fieldsV1/f:metadata/f:{place}"), format!("f:{name}"));
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    entries.filter(move |entry| entry.pointer(&place).is_some_and(|members| members.get(&name).is_some()))
}

/// A JSON Patch whose tests name what was seen. Each change has a place, a name, and the value before and after it.
fn patch(object: &Value, changes: &[(&str, &str, Option<&str>, Option<&str>)]) -> Value {
    let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": text(object, "/metadata/uid")})];
    for place in PLACES {
        let is_here = changes.iter().any(|(of, ..)| *of == place);
        if is_here && members(object, place).is_none() {
            let path = format!("/metadata/{place}");
            patch.push(json!({"op": "test", "path": path, "value": null}));
            patch.push(json!({"op": "add", "path": path, "value": {}}));
        }
    }
    for (place, name, before, after) in changes {
        let path = format!("/metadata/{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        patch.push(json!({"op": "test", "path": path, "value": before}));
        patch.push(match after {
            Some(after) => json!({"op": "add", "path": path, "value": after}),
            None => json!({"op": "remove", "path": path}),
        });
    }
    Value::Array(patch)
}
