//! The metadata changes of `/mutate`, as a JSON Patch against the object as sent.
//!
//! The patch creates absent parents, and replaces or removes only existing values. Otherwise the API server's patch
//! library fails (`gopkg.in/evanphx/json-patch.v4`), and a failed patch fails the user's request whatever the failure
//! policy is.

use std::borrow::Cow;

use super::write::{SentObject, Write};
use super::{judgement::shortened, label::Label, settings::Settings};
use crate::definition::{HELD, HeldMetadata, HeldWrite, KEPT, Kind, MOVED, WANTED, held_write, lost_mark};
use crate::json::{Json, pointer_token};
use crate::webhook::convert::{Object, Pruned, is_brought, pruned, status_as_before};
use crate::webhook::{review::PatchOperation, rollout_hash::HASH_SCHEMA};

/// A required label or annotation.
struct Stamp {
    map: &'static str,
    key: String,
    /// `None` if it must be absent.
    value: Option<String>,
}

impl Stamp {
    fn annotation(key: String, value: Option<String>) -> Self {
        Self { map: "annotations", key, value }
    }
}

/// Returns the patch for an object that is created or updated, and the warnings about restored or overwritten values.
/// The patch is empty if the object stays unchanged.
pub(crate) fn stamp(kind: &Kind, settings: &Settings, write: &Write<'_>) -> (Vec<PatchOperation>, Vec<String>) {
    let (mut stamps, mut warnings) = (Vec::new(), Vec::new());
    if !can_be_stamped(write.new.json()) {
        return (Vec::new(), warnings);
    }
    let mut label = Label::of(&write.new, kind, settings);
    let held = held(kind, write);
    if let Some(HeldWrite { label: Some(before), .. }) = &held {
        label = before.as_ref().map_or(Label::None, |before| Label::read(before, settings));
    }
    if let Some(held) = held {
        stamps.extend(holding(&kind.admission.version_label, &held));
        warnings.extend(held.warning);
    }
    if let Some(mark) = moved(write) {
        stamps.push(Stamp::annotation(MOVED.to_owned(), Some(mark)));
        warnings.push(mark_put_back());
    }
    if label == Label::None
        && let Some(value) = managing_version(kind, settings, write)
    {
        label = Label::read(&value, settings);
        if write.old.is_some() {
            warnings.push(label_put_back(&kind.admission.version_label, &value));
        }
        stamps.push(Stamp { map: "labels", key: kind.admission.version_label.clone(), value: Some(value) });
    }
    // The version that manages the object handles the rest.
    if label == Label::ThisVersion || (label == Label::None && settings.default) {
        let mut annotations = dropped_kept_fields(kind, write);
        let put_back: Vec<String> = annotations.iter().map(|stamp| stamp.key.clone()).collect();
        warnings.extend(overwritten_kept_fields(kind, write));
        for Stamp { key, value, .. } in status_kept_fields(kind, write, &annotations) {
            annotations.retain(|stamp| stamp.key != key);
            warnings.push(status_put_back(&key));
            annotations.push(Stamp::annotation(key, value));
        }
        let hashes = hash(kind, &write.new, &annotations);
        warnings.extend(hashes.first().and_then(|stamp| hash_put_back(write, stamp)));
        annotations.extend(hashes);
        for stale in stale_kept_fields(kind, write, &annotations) {
            annotations.retain(|stamp| stamp.key != stale.key);
            annotations.push(stale);
        }
        // An annotation without remaining values stays absent.
        let is_back = |key: &&String| annotations.iter().any(|stamp| stamp.key == **key && stamp.value.is_some());
        warnings.extend(put_back.iter().filter(is_back).map(|key| kept_put_back(key)));
        stamps.extend(annotations);
    }
    let warnings = warnings.iter().map(|warning| shortened(warning)).collect();
    (operations(write.new.json(), stamps), warnings)
}

/// The changes to the write by a rollout that holds the object.
fn held(kind: &Kind, write: &Write<'_>) -> Option<HeldWrite> {
    let texts = |object: &SentObject<'_>| {
        let annotation = |key: &str| object.annotation(key).and_then(|value| text(&value));
        let label = object.label(&kind.admission.version_label).and_then(|value| text(&value));
        (label, annotation(HELD), annotation(WANTED), annotation(MOVED))
    };
    fn seen(
        (label, held, wanted, moved): &(Option<String>, Option<String>, Option<String>, Option<String>),
    ) -> HeldMetadata<'_> {
        HeldMetadata {
            label: label.as_deref(),
            held: held.as_deref(),
            wanted: wanted.as_deref(),
            moved: moved.as_deref(),
        }
    }
    let old = write.old.as_ref()?;
    old.annotation(HELD)?;
    let old = texts(old);
    held_write(&kind.admission.version_label, seen(&old), seen(&texts(&write.new)))
}

/// Restores the hold and the label, and records the requested label.
fn holding(key: &str, held: &HeldWrite) -> Vec<Stamp> {
    let label = held.label.as_ref().map(|before| Stamp { map: "labels", key: key.to_owned(), value: before.clone() });
    let wanted = held.wanted.as_ref().map(|wanted| Stamp::annotation(WANTED.to_owned(), Some(wanted.clone())));
    let stays = Stamp::annotation(HELD.to_owned(), Some(held.held.clone()));
    [label, wanted].into_iter().flatten().chain([stays]).collect()
}

/// The rollout annotation, if the write would lose it.
fn moved(write: &Write<'_>) -> Option<String> {
    let old = write.old.as_ref()?.annotation(MOVED).and_then(|value| text(&value));
    // A value that is no string counts as present.
    let new = write.new.annotation(MOVED).map(|value| text(&value).unwrap_or_default());
    lost_mark(old.as_deref(), new.as_deref(), &write.manager).map(str::to_owned)
}

/// The warning for a restored rollout annotation: its purpose, and how to remove it.
fn mark_put_back() -> String {
    format!(
        "annotation {MOVED} was restored: a rollout has moved this object and needs the annotation for an undo. \
             To remove the annotation, use pointsman rollout clean"
    )
}

/// The warning for a restored version label.
fn label_put_back(key: &str, value: &str) -> String {
    format!("label {key} was restored to {value:?}: to change the controller of the object, set another version")
}

/// The warning for a restored kept annotation, once for each. It names the data that the author's tool does not
/// preserve.
fn kept_put_back(key: &str) -> String {
    let version = key.strip_prefix(KEPT).unwrap_or(key);
    format!(
        "annotation {key} was restored: it contains values that exist only in {version}; to drop these values, \
             set the annotation to \"\""
    )
}

/// The warning for a hash that the client wrote or left out. Ignores an unchanged hash, which this write made stale,
/// and any text in the form of a hash, which pointsman may have written before another webhook changed the spec.
fn hash_put_back(write: &Write<'_>, stamp: &Stamp) -> Option<String> {
    let text = |object: &SentObject<'_>| object.annotation(&stamp.key).and_then(|value| text(&value));
    let (before, sent) = (write.old.as_ref().and_then(text), text(&write.new));
    let key = &stamp.key;
    match (&before, &sent) {
        (Some(_), None) => Some(format!("annotation {key} was restored: its value is computed from the spec")),
        (_, Some(text)) if sent != before && sent != stamp.value && !is_hash(text) => {
            Some(format!("annotation {key} was overwritten: its value is computed from the spec"))
        }
        _ => None,
    }
}

/// SHA-256 in hexadecimal, like the stamps.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The warnings for kept annotations that a write contains, such as those of an exported manifest. They overwrite
/// values of another version that were edited in the meantime.
fn overwritten_kept_fields(kind: &Kind, write: &Write<'_>) -> Vec<String> {
    let keys = kind.versions.indices().filter_map(|version| kind.kept_annotation(version));
    let mut keys = keys.filter(|key| write.new.annotation(key).is_some()).peekable();
    if keys.peek().is_none() {
        return Vec::new();
    }
    let (Some(Ok(old)), Ok(new)) = (write.old.as_ref().map(SentObject::object), write.new.object()) else {
        return Vec::new();
    };
    let brought = keys.filter(|key| is_brought(kind, [&old, &new], key));
    let brought_warnings = brought.map(|key| {
        let version = key.strip_prefix(KEPT).unwrap_or(key);
        format!(
            "annotation {key} was changed by hand: values that exist only in {version} return to its content, \
                 without later edits; remove the annotation from manifests"
        )
    });
    let mut warnings: Vec<String> = Vec::new();
    for warning in brought_warnings {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Kept annotations with the old status entries, if the status is a subresource.
fn status_kept_fields(kind: &Kind, write: &Write<'_>, stamps: &[Stamp]) -> Vec<Stamp> {
    let Some(new) = with_kept_fields(kind, &write.new, stamps) else { return Vec::new() };
    let Ok(old) = write.old.as_ref().map(SentObject::object).transpose() else { return Vec::new() };
    if !new.version(kind).is_ok_and(|at| kind.version_at(at).status_apart) {
        return Vec::new();
    }
    let reset = status_as_before(kind, &new, old.as_ref()).into_iter();
    reset.map(|Pruned { name, text }| Stamp::annotation(name, text)).collect()
}

/// The warning for restored status entries. The API server restores the status itself in the same way.
fn status_put_back(key: &str) -> String {
    format!("annotation {key}: its status entries were restored: only a write of the status changes these")
}

/// The version of an object without a label: omitting the label does not change the controller version.
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

/// Restores kept annotations that an update dropped. A client that cannot see their content cannot intend to delete it.
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
            stamps.push(Stamp::annotation(key.clone(), Some(value)));
        }
    }
    stamps
}

/// The new content of kept annotations if a write changed values that they depend on, or created an object with them.
/// An unrelated write leaves them unchanged in any spelling.
fn stale_kept_fields(kind: &Kind, write: &Write<'_>, stamps: &[Stamp]) -> Vec<Stamp> {
    let keys = || kind.versions.indices().filter_map(|version| kind.kept_annotation(version));
    let Some(mut new) = with_kept_fields(kind, &write.new, stamps) else { return Vec::new() };
    let Ok(old) = write.old.as_ref().map(SentObject::object).transpose() else { return Vec::new() };
    // The API server takes the status from the old object. A new object has none.
    if new.version(kind).is_ok_and(|at| kind.version_at(at).status_apart) {
        new = new.with_status_of(old.as_ref());
    }
    let is_as_before = |old: &Object<'_>| {
        new.root.same(&old.root) && keys().all(|key| new.annotations.text(key) == old.annotations.text(key))
    };
    if old.as_ref().is_some_and(is_as_before) {
        return Vec::new();
    }
    let pruned = pruned(kind, &new).unwrap_or_default().into_iter();
    pruned.map(|Pruned { name, text }| Stamp::annotation(name, text)).collect()
}

/// The rollout hash with the version of its recipe. Empty for an object that cannot be read, which other checks report.
fn hash(kind: &Kind, new: &SentObject<'_>, kept: &[Stamp]) -> Vec<Stamp> {
    let (Some(rollout), Some(mut object)) = (&kind.rollout_hash, stamped(new, kept)) else {
        return Vec::new();
    };
    if object.convert_to_read(kind, rollout.at).is_err() {
        return Vec::new();
    }
    let hash = object.rollout_hash(rollout);
    let stamp = |name: &str, value: String| Stamp::annotation(format!("{}/{name}", kind.group), Some(value));
    vec![stamp("rollout-hash", hash), stamp("rollout-hash-version", HASH_SCHEMA.to_owned())]
}

/// The object with these annotations. `None` if it cannot be read, and, before anything is read, if it has no kept
/// annotation.
fn with_kept_fields<'j>(kind: &Kind, new: &'j SentObject<'_>, stamps: &[Stamp]) -> Option<Object<'j>> {
    let mut keys = kind.versions.indices().filter_map(|version| kind.kept_annotation(version));
    let is_restored = |key: &str| stamps.iter().any(|stamp| stamp.key == key && stamp.value.is_some());
    keys.any(|key| new.annotation(key).is_some() || is_restored(key)).then(|| stamped(new, stamps)).flatten()
}

/// The object with these annotations. `None` if it cannot be read.
fn stamped<'j>(new: &'j SentObject<'_>, annotations: &[Stamp]) -> Option<Object<'j>> {
    let mut object = new.object().ok()?;
    for Stamp { key, value, .. } in annotations {
        match value {
            Some(value) => object.annotations.set(key, value),
            None => object.annotations.remove(key),
        }
    }
    Some(object)
}

/// Returns whether labels and annotations are valid maps. The API server itself rejects others.
fn can_be_stamped(object: &Json<'_>) -> bool {
    let maps = ["labels", "annotations"].map(|name| object.get_path(&["metadata", name]).map(|map| map.type_name()));
    let mut found = maps.into_iter().chain([metadata_type(object)]).flatten();
    found.all(|found| matches!(found, "object" | "null"))
}

fn metadata_type(object: &Json<'_>) -> Option<&'static str> {
    match object {
        Json::Object(members) => members.get("metadata").map(Json::type_name),
        closed => closed.get("metadata").map(|metadata| metadata.type_name()),
    }
}

/// The patch for the stamps, including absent maps.
fn operations(object: &Json<'_>, stamps: Vec<Stamp>) -> Vec<PatchOperation> {
    let map = |name: &str| object.get_path(&["metadata", name]);
    let metadata = metadata_type(object);
    let add = |path: String| PatchOperation { op: "add", path, value: "{}".to_owned() };
    let mut patch: Vec<PatchOperation> = Vec::new();
    if stamps.iter().any(|stamp| stamp.value.is_some()) && metadata != Some("object") {
        patch.push(add("/metadata".to_owned()));
    }
    for Stamp { map: name, key, value } in stamps {
        let existing = map(name).filter(Json::is_object);
        let now = existing.as_ref().and_then(|existing| existing.get(&key));
        let value = value.map(|value| Json::string(&value));
        let is_so = match (&now, &value) {
            (None, None) => true,
            (Some(now), Some(value)) => now.same(value),
            _ => false,
        };
        if is_so {
            continue;
        }
        let parent = format!("/metadata/{name}");
        if existing.is_none() && !patch.iter().any(|operation| operation.path == parent) {
            patch.push(add(parent));
        }
        let op = match (&now, &value) {
            (_, None) => "remove",
            (Some(_), Some(_)) => "replace",
            (None, Some(_)) => "add",
        };
        patch.push(PatchOperation {
            op,
            path: format!("/metadata/{name}/{}", pointer_token(&key)),
            value: value.map(|value| value.to_text()).unwrap_or_default(),
        });
    }
    patch
}
