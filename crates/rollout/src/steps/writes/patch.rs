//! The single write that moves an object, or reverts the move.
//!
//! A JSON Patch with preconditions on the uid and the earlier content. The API server rejects a stale patch with 422.
//! Unlike a resourceVersion, the preconditions allow concurrent status writes.

use serde_json::{Value, json};

use crate::observe::fleet_object::FleetObject;
use crate::observe::moment::{ClockReading, rfc3339};
use crate::observe::observed_field::{pointer, test};
use crate::observe::rollout_annotation::{ANNOTATION, RolloutAnnotation, keeps_not};
use crate::spec::rollout::Rollout;
use pointsman_core::definition::{HELD, HoldMark, RELEASE_REQUEST, RELEASED, WANTED};

/// The write of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ObjectPatch {
    /// Its namespace, if namespaced.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// A JSON Patch (RFC 6902).
    pub patch: Value,
}

impl ObjectPatch {
    /// Moves the object to the new version. The same patch records the previous version. If a write of a field manager
    /// is awaited, the patch also records the entries of that manager and requires them unchanged.
    pub(crate) fn forward(rollout: &Rollout, object: &FleetObject, now: ClockReading, awaited: Option<&str>) -> Self {
        let mut mark = RolloutAnnotation::new((&rollout.uid, &rollout.to), object.version.clone(), now);
        mark.writes = object.record_of(awaited);
        let label = pointer("labels", &rollout.label);
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        match &object.version {
            Some(version) => {
                patch.push(test(&label, json!(version)));
                patch.push(json!({"op": "replace", "path": label, "value": rollout.to}));
            }
            None if object.labels.is_empty() => {
                patch.push(test("/metadata/labels", Value::Null));
                patch.push(json!({"op": "add", "path": "/metadata/labels", "value": {&rollout.label: rollout.to}}));
            }
            None => {
                patch.push(test(&label, Value::Null));
                patch.push(json!({"op": "add", "path": label, "value": rollout.to}));
            }
        }
        let text = serde_json::to_string(&mark).unwrap_or_default();
        if object.has_annotations {
            // A runner that lost the rollout to another one must not move the object again after the label was reset.
            let path = pointer("annotations", ANNOTATION);
            patch.push(test(&path, json!(object.annotation_content.text())));
            patch.push(json!({"op": "add", "path": path, "value": text}));
        } else {
            // Without the precondition, annotations added meanwhile would be lost.
            patch.push(test("/metadata/annotations", Value::Null));
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: text}}));
        }
        patch.extend(unheld(rollout, object, HeldWrite::Move));
        let gets = |wanted: &&str| *wanted == rollout.to || wanted.is_empty();
        patch.extend(object.wanted().filter(gets).into_iter().flat_map(|wanted| removed(WANTED, wanted)));
        patch.extend(object.preconditions_of(awaited));
        Self::of(object, patch)
    }

    /// True if the patch writes the rollout annotation.
    #[must_use]
    pub fn notes(&self) -> bool {
        self.mark().is_some()
    }

    /// The reason why the move would be unrecorded, given the API server's response: the annotation is stored
    /// differently than written.
    #[must_use]
    pub fn unkept(&self, written: &Value) -> Option<String> {
        let is_kept = written.pointer(&pointer("annotations", ANNOTATION)) == Some(self.mark()?);
        (!is_kept).then(|| format!("it {}", keeps_not(ANNOTATION)))
    }

    /// The annotation value that the patch writes, at any depth.
    fn mark(&self) -> Option<&Value> {
        let mark = pointer("annotations", ANNOTATION);
        self.patch.as_array()?.iter().rev().find_map(|one| {
            let text = |name: &str| one.get(name).and_then(Value::as_str);
            let rest = mark.strip_prefix(text("path")?).filter(|_| matches!(text("op"), Some("add" | "replace")))?;
            one.get("value")?.pointer(rest)
        })
    }

    /// Holds an object until its turn, so that other clients cannot change its label. Removes a version request from an
    /// earlier hold: after that hold was released, the client could apply the change.
    pub(crate) fn hold(rollout: &Rollout, object: &FleetObject, now: ClockReading) -> Self {
        let mark = HoldMark { rollout: rollout.uid.clone(), name: rollout.name.clone(), at: rfc3339(now.wall) };
        let text = serde_json::to_string(&mark).unwrap_or_default();
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        patch.push(match object.labels.is_empty() {
            true => test("/metadata/labels", Value::Null),
            false => test(&pointer("labels", &rollout.label), json!(object.version)),
        });
        if object.has_annotations {
            let path = pointer("annotations", HELD);
            patch.push(test(&path, json!(object.held_text())));
            patch.push(json!({"op": "add", "path": path, "value": text}));
            let stale = object.wanted().filter(|_| !object.is_released_by(rollout));
            patch.extend(stale.into_iter().flat_map(|wanted| removed(WANTED, wanted)));
        } else {
            patch.push(test("/metadata/annotations", Value::Null));
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {HELD: text}}));
        }
        Self::of(object, patch)
    }

    /// Releases an object without moving it, with a text that /mutate does not put back. `None` if the rollout does not
    /// hold the object.
    #[must_use]
    pub fn release(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        patch.extend(released(rollout, object.hold_of(rollout)?));
        Some(Self::of(object, patch))
    }

    /// Moves a held object as another client would. If the webhook does not protect the label, a dry run of this patch
    /// returns the new version. `None` if the rollout does not hold the object.
    #[must_use]
    pub fn by_another_client(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        object.hold_of(rollout)?;
        let (path, value) = match object.labels.is_empty() {
            true => ("/metadata/labels".to_owned(), json!({&rollout.label: rollout.to})),
            false => (pointer("labels", &rollout.label), json!(rollout.to)),
        };
        let label = json!({"op": "add", "path": path, "value": value});
        Some(Self::of(object, vec![test("/metadata/uid", json!(object.uid)), label]))
    }

    /// Restores the version before the rollout. `None` if the rollout has not moved the object. `awaited` is as in
    /// [`Self::forward`], and the caller records its entries.
    pub(crate) fn back(rollout: &Rollout, object: &FleetObject, awaited: Option<&str>) -> Option<Self> {
        let mark = object.annotation_of(rollout)?;
        let label = pointer("labels", &rollout.label);
        let mut patch = vec![test("/metadata/uid", json!(object.uid)), test(&label, json!(mark.to))];
        patch.extend(unmark(object));
        patch.push(match &mark.was {
            Some(was) => json!({"op": "replace", "path": label, "value": was}),
            None => json!({"op": "remove", "path": label}),
        });
        patch.extend(unheld(rollout, object, HeldWrite::Other));
        patch.extend(object.preconditions_of(awaited));
        Some(Self::of(object, patch))
    }

    /// Removes the annotations of the rollout. `None` if the object has none.
    #[must_use]
    pub fn clean(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        let left = object.held_text().filter(|text| *text == RELEASE_REQUEST || text.starts_with(RELEASED));
        if object.annotation_of(rollout).is_none() && left.is_none() {
            return None;
        }
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        if object.annotation_of(rollout).is_some() {
            patch.extend(unmark(object));
        }
        patch.extend(left.into_iter().flat_map(|text| removed(HELD, text)));
        Some(Self::of(object, patch))
    }

    fn of(object: &FleetObject, patch: Vec<Value>) -> Self {
        let (namespace, name) = (object.namespace.clone(), object.name.clone());
        Self { namespace, name, uid: object.uid.clone(), patch: Value::Array(patch) }
    }

    /// `namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        self.namespace.as_ref().map_or_else(|| self.name.clone(), |namespace| format!("{namespace}/{}", self.name))
    }
}

/// Removes the rollout annotation if unchanged since it was read.
fn unmark(object: &FleetObject) -> Vec<Value> {
    let path = pointer("annotations", ANNOTATION);
    vec![test(&path, json!(object.annotation_content.text())), json!({"op": "remove", "path": path})]
}

/// The kind of a write to an object on hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HeldWrite {
    /// The move for which the rollout holds the object.
    Move,
    /// A write in another direction.
    Other,
}

/// The effect of a label write on any hold: with a remaining hold, /mutate would restore the label.
fn unheld(rollout: &Rollout, object: &FleetObject, write: HeldWrite) -> Vec<Value> {
    match object.hold() {
        Some((text, mark)) if write == HeldWrite::Move && mark.rollout == rollout.uid => removed(HELD, text).into(),
        Some((text, _)) => released(rollout, text).into(),
        // A hold added meanwhile would restore the label.
        None if object.has_annotations => vec![test(&pointer("annotations", HELD), json!(object.held_text()))],
        None => Vec::new(),
    }
}

/// Replaces a hold by a release of this rollout.
fn released(rollout: &Rollout, text: &str) -> [Value; 2] {
    let path = pointer("annotations", HELD);
    let release = json!({"op": "replace", "path": path, "value": format!("{RELEASED} {}", rollout.uid)});
    [test(&path, json!(text)), release]
}

/// Removes an annotation if its value is as read.
fn removed(key: &str, text: &str) -> [Value; 2] {
    let path = pointer("annotations", key);
    [test(&path, json!(text)), json!({"op": "remove", "path": path})]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At any depth of the patch.
    #[test]
    fn dropped_mark_shows_in_response() {
        let kept = json!({"metadata": {"annotations": {ANNOTATION: "m", "theirs": "x"}}});
        let path = pointer("annotations", ANNOTATION);
        let tests = [test("/metadata/uid", json!("u")), test(&path, Value::Null)];
        for write in [
            json!({"op": "add", "path": path, "value": "m"}),
            json!({"op": "replace", "path": path, "value": "m"}),
            json!({"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: "m"}}),
        ] {
            let patch = Value::Array(tests.iter().cloned().chain([write]).collect());
            let one = ObjectPatch { namespace: None, name: "a".to_owned(), uid: "u".to_owned(), patch };
            assert_eq!(one.unkept(&kept), None, "{}", one.patch);
            for now in [json!({}), json!({"metadata": {"annotations": {ANNOTATION: "o"}}})] {
                assert!(one.unkept(&now).is_some_and(|why| why.contains(ANNOTATION)), "{}", one.patch);
            }
        }
        let patch = json!([{"op": "remove", "path": path}, {"op": "add", "path": "/spec", "value": "m"}]);
        let one = ObjectPatch { namespace: None, name: "a".to_owned(), uid: "u".to_owned(), patch };
        assert_eq!(one.unkept(&json!({})), None, "nothing is to be kept");
    }
}
