//! What `/mutate` stamps, as a JSON Patch against the object as it was sent.
//!
//! Only `add` and `replace`, parents made where they are missing: the API server's patch library fails on the rest
//! (`gopkg.in/evanphx/json-patch.v4`), and a failed patch fails the user's request whatever the failure policy is.

use std::borrow::Cow;

use super::write::{Sent, Write};
use super::{label::Label, settings::Settings};
use crate::webhook::{review::PatchOperation, rollout::HASH_SCHEMA};
use crate::{definition::Kind, json::Json};

/// What must be true of an object's metadata.
struct Stamp {
    map: &'static str,
    key: String,
    value: String,
}

/// The patch for an object that is created or updated. Empty if it is right as it is.
pub(crate) fn patch(kind: &Kind, settings: &Settings, write: &Write<'_>) -> Vec<PatchOperation> {
    let mut stamps = Vec::new();
    let mut label = Label::of(&write.new, kind, settings);
    if label == Label::None
        && let Some(value) = managing_version(kind, settings, write)
    {
        label = Label::read(&value, settings);
        stamps.push(Stamp { map: "labels", key: kind.admission.version_label.clone(), value });
    }
    // The rest is for the version that manages the object to say.
    if label == Label::ThisVersion || (label == Label::None && settings.default) {
        let kept = dropped_kept_fields(kind, write);
        let hash = hash(kind, &write.new, &kept);
        stamps.extend(kept.into_iter().chain(hash));
    }
    operations(write.new.json(), stamps)
}

/// The version of an object that has no label: who manages it does not change by leaving the label out.
fn managing_version(kind: &Kind, settings: &Settings, write: &Write<'_>) -> Option<String> {
    match &write.old {
        Some(old) => text(&old.label(&kind.admission.version_label)?),
        None => {
            let own = settings.controller.as_ref().filter(|_| settings.default)?;
            Some(own.as_str().to_owned())
        }
    }
}

fn text(value: &Json<'_>) -> Option<String> {
    value.as_str().map(Cow::into_owned)
}

/// Our kept annotations, where an update dropped them: who could not see what they hold cannot have meant to lose it.
fn dropped_kept_fields(kind: &Kind, write: &Write<'_>) -> Vec<Stamp> {
    let Some(old) = &write.old else {
        return Vec::new();
    };
    let keys = kind.steps.iter().flat_map(|step| [&step.kept.older, &step.kept.newer]);
    let mut stamps: Vec<Stamp> = Vec::new();
    for key in keys {
        let is_missing = write.new.annotation(key).is_none();
        let value = old.annotation(key).and_then(|value| text(&value));
        let is_first = !stamps.iter().any(|stamp| stamp.key == *key);
        if let (true, true, Some(value)) = (is_missing, is_first, value) {
            stamps.push(Stamp { map: "annotations", key: key.clone(), value });
        }
    }
    stamps
}

/// The rollout hash with the version of its recipe. Nothing for an object that cannot be read: that is for others to say.
fn hash(kind: &Kind, new: &Sent<'_>, kept: &[Stamp]) -> Vec<Stamp> {
    let (Some(rollout), Ok(mut object)) = (&kind.rollout, new.object()) else {
        return Vec::new();
    };
    for stamp in kept {
        object.annotations.set(&stamp.key, &stamp.value);
    }
    if object.convert(kind, rollout.at).is_err() {
        return Vec::new();
    }
    let hash = object.preimage(rollout).hash();
    let stamp = |name: &str, value: String| Stamp { map: "annotations", key: format!("{}/{name}", kind.group), value };
    vec![stamp("rollout-hash", hash), stamp("rollout-hash-version", HASH_SCHEMA.to_owned())]
}

/// The patch that makes stamps true, with the maps they stand in.
fn operations(object: &Json<'_>, stamps: Vec<Stamp>) -> Vec<PatchOperation> {
    let metadata = object.get("metadata");
    let map = |name: &str| metadata.as_ref().and_then(|metadata| metadata.get(name));
    // What is no map of strings is not ours to replace: the API server says so itself.
    let is_odd = |value: &Json<'_>| !value.is_object() && !value.is_null();
    if [metadata.clone(), map("labels"), map("annotations")].iter().flatten().any(is_odd) {
        return Vec::new();
    }
    let add = |path: String| PatchOperation { op: "add", path, value: "{}".to_owned() };
    let mut patch: Vec<PatchOperation> = Vec::new();
    if !stamps.is_empty() && !metadata.as_ref().is_some_and(Json::is_object) {
        patch.push(add("/metadata".to_owned()));
    }
    for Stamp { map: name, key, value } in stamps {
        let existing = map(name).filter(Json::is_object);
        let now = existing.as_ref().and_then(|existing| existing.get(&key));
        let value = Json::string(&value);
        if now.as_ref().is_some_and(|now| now.same(&value)) {
            continue;
        }
        let parent = format!("/metadata/{name}");
        if existing.is_none() && !patch.iter().any(|operation| operation.path == parent) {
            patch.push(add(parent));
        }
        patch.push(PatchOperation {
            op: if now.is_some() { "replace" } else { "add" },
            path: format!("/metadata/{name}/{}", key.replace('~', "~0").replace('/', "~1")),
            value: value.to_text(),
        });
    }
    patch
}
