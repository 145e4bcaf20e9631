//! What `/mutate` stamps, as a JSON Patch against the object as it was sent.
//!
//! Only `add` and `replace`, parents made where they are missing: the API server's patch library fails on the rest
//! (`gopkg.in/evanphx/json-patch.v4`), and a failed patch fails the user's request whatever the failure policy is.

use super::{Label, Settings, Written};
use crate::definition::Kind;
use crate::json::{Json, Members};
use crate::webhook::rollout::{self, HASH_SCHEMA};

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
    let mut stamps = Vec::new();
    let label_key = &kind.admission.version_label;
    let mut label = written.label(settings, kind);
    let before = written
        .old
        .as_ref()
        .map(|old| settings.label(old, label_key));
    let own = settings.controller.as_ref();
    if matches!(label, Label::None) {
        match (&before, own) {
            // Who manages an object does not change by leaving the label out.
            (Some(Label::Own(text) | Label::Other(text)), _) => {
                stamps.push(Stamp {
                    map: "labels",
                    key: label_key.clone(),
                    value: text.clone(),
                });
                label = settings.class(text);
            }
            (None | Some(_), Some(own)) if settings.default && before.is_none() => {
                stamps.push(Stamp {
                    map: "labels",
                    key: label_key.clone(),
                    value: own.text.clone(),
                });
                label = Label::Own(own.text.clone());
            }
            _ => {}
        }
    }
    let kept = kept_again(kind, written);
    let hash = hash(kind, written, &kept);
    stamps.extend(kept);
    if matches!(label, Label::Own(_))
        || own.is_none()
        || (matches!(label, Label::None) && settings.default)
    {
        stamps.extend(hash);
    }
    operations(&written.object, stamps)
}

/// Our kept annotations, where an update dropped them: who could not see what they hold cannot have meant to lose it.
fn kept_again(kind: &Kind, written: &Written<'_>) -> Vec<Stamp> {
    let Some(old) = &written.old else {
        return Vec::new();
    };
    let annotations = |object: &Json<'_>| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get("annotations").map(|a| a.view().into_owned()))
    };
    let (Some(before), now) = (annotations(old), annotations(&written.object)) else {
        return Vec::new();
    };
    let keys = kind
        .steps
        .iter()
        .flat_map(|step| [&step.kept.older, &step.kept.newer]);
    let mut stamps: Vec<Stamp> = Vec::new();
    for key in keys {
        let missing = now
            .as_ref()
            .is_none_or(|now| now.get(key).is_none_or(|value| value.is_null()));
        let value = before
            .get(key)
            .and_then(|value| value.as_str().map(|text| text.into_owned()));
        if let (true, Some(value), false) =
            (missing, value, stamps.iter().any(|stamp| stamp.key == *key))
        {
            stamps.push(Stamp {
                map: "annotations",
                key: key.clone(),
                value,
            });
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
    if object.convert(kind, rollout.at, None).is_err() {
        return Vec::new();
    }
    let force = rollout
        .force
        .as_deref()
        .and_then(|force| object.annotations.text(force));
    let hash = rollout::hash(
        rollout,
        object.root.get(&rollout.of).as_ref(),
        force.as_deref(),
    );
    let stamp = |name: &str, value: String| Stamp {
        map: "annotations",
        key: format!("{}/{name}", kind.group),
        value,
    };
    vec![
        stamp("rollout-hash", hash),
        stamp("rollout-hash-version", HASH_SCHEMA.to_owned()),
    ]
}

fn operations(object: &Json<'_>, stamps: Vec<Stamp>) -> Vec<PatchOperation> {
    let mut patch = Vec::new();
    let metadata = object.get("metadata").filter(Json::is_object);
    if metadata.is_none() && !stamps.is_empty() {
        patch.push(PatchOperation {
            op: "add",
            path: "/metadata".to_owned(),
            value: "{}".to_owned(),
        });
    }
    let mut made: Vec<&str> = Vec::new();
    for Stamp { map, key, value } in stamps {
        let existing = metadata
            .as_ref()
            .and_then(|metadata| metadata.get(map))
            .filter(Json::is_object);
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
    if patch.iter().all(|operation| operation.value == "{}") {
        Vec::new()
    } else {
        patch
    }
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
