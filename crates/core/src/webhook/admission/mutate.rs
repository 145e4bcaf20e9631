//! What `/mutate` stamps, as a JSON Patch against the object as it was sent.
//!
//! Only `add` and `replace`, parents made where they are missing: the API server's patch library fails on the rest
//! (`gopkg.in/evanphx/json-patch.v4`), and a failed patch fails the user's request whatever the failure policy is.

use super::{Label, Settings, Written, entry};
use crate::definition::Kind;
use crate::json::{Json, Members};
use crate::webhook::rollout::HASH_SCHEMA;

/// One operation of a patch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PatchOperation {
    /// `add` or `replace`.
    pub op: &'static str,
    /// A JSON Pointer (RFC 6901).
    pub path: String,
    /// JSON text.
    pub value: String,
}

/// What must be true of an object's metadata.
struct Stamp {
    map: &'static str,
    key: String,
    value: String,
}

/// The patch for an object that is created or updated. Empty if it is right as it is.
pub(super) fn patch(
    kind: &Kind,
    settings: &Settings,
    written: &Written<'_>,
) -> Vec<PatchOperation> {
    let key = &kind.admission.version_label;
    let mut stamps = Vec::new();
    let mut label = written.label(settings, kind);
    if matches!(label, Label::None) {
        let before = written
            .old
            .as_ref()
            .map(|old| entry(old, "labels", key).and_then(|value| text(&value)));
        let value = match (before, settings.controller.as_ref()) {
            // Who manages an object does not change by leaving the label out.
            (Some(before), _) => before,
            (None, Some(own)) if settings.default => Some(own.text.clone()),
            (None, _) => None,
        };
        if let Some(value) = value {
            label = settings.class(&value);
            stamps.push(Stamp { map: "labels", key: key.clone(), value });
        }
    }
    // The rest is for the version that manages the object to say.
    if matches!(label, Label::Own(_)) || (matches!(label, Label::None) && settings.default) {
        let kept = kept_again(kind, written);
        let hash = hash(kind, written, &kept);
        stamps.extend(kept.into_iter().chain(hash));
    }
    operations(&written.object, stamps)
}

fn text(value: &Json<'_>) -> Option<String> {
    value.as_str().map(|text| text.into_owned())
}

/// Our kept annotations, where an update dropped them: who could not see what they hold cannot have meant to lose it.
fn kept_again(kind: &Kind, written: &Written<'_>) -> Vec<Stamp> {
    let Some(old) = &written.old else {
        return Vec::new();
    };
    let keys = kind.steps.iter().flat_map(|step| [&step.kept.older, &step.kept.newer]);
    let mut stamps: Vec<Stamp> = Vec::new();
    for key in keys {
        let missing = entry(&written.object, "annotations", key).is_none();
        let value = entry(old, "annotations", key).and_then(|value| text(&value));
        let once = !stamps.iter().any(|stamp| stamp.key == *key);
        if let (true, true, Some(value)) = (missing, once, value) {
            stamps.push(Stamp { map: "annotations", key: key.clone(), value });
        }
    }
    stamps
}

/// The rollout hash with the version of its recipe. Nothing for an object that cannot be read: that is for others to say.
fn hash(kind: &Kind, written: &Written<'_>, kept: &[Stamp]) -> Vec<Stamp> {
    let Some(rollout) = &kind.rollout else {
        return Vec::new();
    };
    let Ok(mut object) = written.read_new() else {
        return Vec::new();
    };
    for stamp in kept {
        object.annotations.set(&stamp.key, &stamp.value);
    }
    if object.convert(kind, rollout.at).is_err() {
        return Vec::new();
    }
    let hash = object.preimage(rollout).hash();
    let stamp = |name: &str, value: String| Stamp {
        map: "annotations",
        key: format!("{}/{name}", kind.group),
        value,
    };
    vec![stamp("rollout-hash", hash), stamp("rollout-hash-version", HASH_SCHEMA.to_owned())]
}

fn operations(object: &Json<'_>, stamps: Vec<Stamp>) -> Vec<PatchOperation> {
    let mut patch = Vec::new();
    let metadata = object.get("metadata");
    // What is no map of strings is not ours to replace: the API server says so itself.
    let odd = |value: Option<Json<'_>>| value.is_some_and(|v| !v.is_object() && !v.is_null());
    let map = |name: &str| Some(metadata.as_ref()?.get(name)?.into_owned());
    if odd(object.get("metadata"))
        || ["labels", "annotations"].into_iter().any(|name| odd(map(name)))
    {
        return patch;
    }
    let metadata = metadata.filter(Json::is_object);
    if metadata.is_none() && !stamps.is_empty() {
        patch.push(PatchOperation {
            op: "add",
            path: "/metadata".to_owned(),
            value: "{}".to_owned(),
        });
    }
    let mut made: Vec<&str> = Vec::new();
    for Stamp { map, key, value } in stamps {
        let existing =
            metadata.as_ref().and_then(|metadata| metadata.get(map)).filter(Json::is_object);
        let now = existing
            .as_ref()
            .and_then(|existing| existing.get(&key))
            .map(|value| value.view().into_owned());
        let value = Json::string(&value);
        if now.as_ref().is_some_and(|now| now.same(&value)) {
            continue;
        }
        if existing.is_none() && !made.contains(&map) {
            made.push(map);
            patch.push(PatchOperation {
                op: "add",
                path: format!("/metadata/{map}"),
                value: "{}".to_owned(),
            });
        }
        let op = if now.is_some() { "replace" } else { "add" };
        let key = key.replace('~', "~0").replace('/', "~1");
        patch.push(PatchOperation {
            op,
            path: format!("/metadata/{map}/{key}"),
            value: value.to_text(),
        });
    }
    // Parents alone are no reason to touch an object.
    if patch.iter().all(|operation| operation.value == "{}") { Vec::new() } else { patch }
}

/// A patch as a JSON document.
pub(super) fn document(patch: &[PatchOperation]) -> String {
    let operation = |operation: &PatchOperation| {
        let mut members = Members::default();
        members.set("op", Json::string(operation.op));
        members.set("path", Json::string(&operation.path));
        members.set("value", Json::owned(operation.value.clone()));
        Json::Object(members)
    };
    Json::Array(patch.iter().map(operation).collect()).to_text()
}
