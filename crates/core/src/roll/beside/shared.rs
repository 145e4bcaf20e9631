//! Labels and annotations of two objects, one of which was made of the other. Both have the same then; what somebody
//! changes of the one that goes later is carried to the one that stays, before it goes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::names::SHARED;
use super::object_write::ObjectCall;
use super::progress::{Beside, StepProgress};
use super::seen::{annotation, text};
use crate::definition::{ROLL_MANAGER, StepWay};
use crate::roll::kind_pair::KindPair;

/// Labels and annotations that an object was made with, and that the one has which it was made of: by place and name, a
/// hash of each value.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(in crate::roll) struct SharedMetadata(BTreeMap<String, String>);

impl SharedMetadata {
    pub(super) fn of(object: &Value, pair: &KindPair) -> Self {
        let all = PLACES.iter().flat_map(|place| {
            let members = members(object, place).into_iter().flatten();
            let members = members.filter(|(name, _)| pair.shares(name));
            members.filter_map(|(name, value)| Some((key(place, name), hash(value.as_str()?))))
        });
        Self(all.collect())
    }

    /// As an annotation says it.
    pub(super) fn told(&self) -> Option<Value> {
        serde_json::to_string(self).ok().map(Value::String)
    }

    fn is(&self, key: &str, value: Option<&str>) -> bool {
        self.0.get(key).map(String::as_str) == value.map(hash).as_deref()
    }
}

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

/// Whether an object has a label or annotation from the other one, by whoever runs rolls, and nobody has written it since.
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

fn members<'v>(object: &'v Value, place: &str) -> Option<&'v Map<String, Value>> {
    object.get("metadata")?.get(place)?.as_object()
}

fn key(place: &str, name: &str) -> String {
    format!("{place}/{name}")
}

fn hash(value: &str) -> String {
    Sha256::digest(value.as_bytes()).iter().take(DIGITS).map(|byte| format!("{byte:02x}")).collect()
}

/// What of the metadata is carried.
const PLACES: [&str; 2] = ["labels", "annotations"];

/// Bytes of a hash: enough that nobody meets two of one by chance, among the values that one label ever has.
const DIGITS: usize = 4;
