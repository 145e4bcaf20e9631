//! The one write by which an object is moved, or taken back.
//!
//! A JSON Patch whose tests name the object and what it was: the API server refuses it (422) where that is not so any
//! more, and takes it although somebody wrote the status in between, which a resourceVersion would not.

use serde_json::{Value, json};

use super::fleet_object::FleetObject;
use super::fleet_rollout::Rollout;
use super::json_patch::{pointer, test};
use super::rollout_annotation::{ANNOTATION, RolloutAnnotation, keeps_not};
use super::moment::{ClockReading, rfc3339};
use crate::definition::{HELD, HoldMark, LET_GO, RELEASED, WANTED};

/// The write of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ObjectPatch {
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// A JSON Patch (RFC 6902).
    pub patch: Value,
}

impl ObjectPatch {
    /// To the new version. What it was is written down in the same patch, and so are the entries of a field manager,
    /// where a write of that one is waited for: then the patch lands only while they are these.
    pub(super) fn forward(rollout: &Rollout, object: &FleetObject, now: ClockReading, awaited: Option<&str>) -> Self {
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
            // Who has lost the rollout to another runner, which moved the object, must not move it again after somebody
            // turned the label back.
            let path = pointer("annotations", ANNOTATION);
            patch.push(test(&path, json!(object.noted.text())));
            patch.push(json!({"op": "add", "path": path, "value": text}));
        } else {
            // Without the test, annotations that came meanwhile would be lost.
            patch.push(test("/metadata/annotations", Value::Null));
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: text}}));
        }
        patch.extend(unheld(rollout, object, IsTurn::Its));
        let gets = |wanted: &&str| *wanted == rollout.to || wanted.is_empty();
        patch.extend(object.wanted().filter(gets).into_iter().flat_map(|wanted| removed(WANTED, wanted)));
        patch.extend(object.preconditions_of(awaited));
        Self::of(object, patch)
    }

    /// Whether the mark of its move is written.
    #[must_use]
    pub fn notes(&self) -> bool {
        self.mark().is_some()
    }

    /// Why nobody would know what was done to the object, by what an API server answers to the patch: the mark is not
    /// stored as it was written.
    #[must_use]
    pub fn unkept(&self, written: &Value) -> Option<String> {
        let is_kept = written.pointer(&pointer("annotations", ANNOTATION)) == Some(self.mark()?);
        (!is_kept).then(|| format!("it {}", keeps_not(ANNOTATION)))
    }

    /// What is written into the annotation, at whatever depth of the patch.
    fn mark(&self) -> Option<&Value> {
        let mark = pointer("annotations", ANNOTATION);
        self.patch.as_array()?.iter().rev().find_map(|one| {
            let text = |name: &str| one.get(name).and_then(Value::as_str);
            let rest = mark.strip_prefix(text("path")?).filter(|_| matches!(text("op"), Some("add" | "replace")))?;
            one.get("value")?.pointer(rest)
        })
    }

    /// Holds an object until its turn: nobody else changes its label meanwhile. What somebody wanted before, while
    /// another rollout held it, is over: since that has let it go, whoever wants it still has done it.
    pub(super) fn hold(rollout: &Rollout, object: &FleetObject, now: ClockReading) -> Self {
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

    /// Lets go an object that does not move, by a text that /mutate does not put back. Nothing where the rollout does
    /// not hold it.
    #[must_use]
    pub fn let_go(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        patch.extend(released(rollout, object.hold_of(rollout)?));
        Some(Self::of(object, patch))
    }

    /// Moves an object that is held as somebody else would, who knows nothing of that. Where nobody keeps its label as
    /// it was, the answer to a dry run of this is at the new version. Nothing where the rollout does not hold it.
    #[must_use]
    pub fn by_somebody_else(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        object.hold_of(rollout)?;
        let (path, value) = match object.labels.is_empty() {
            true => ("/metadata/labels".to_owned(), json!({&rollout.label: rollout.to})),
            false => (pointer("labels", &rollout.label), json!(rollout.to)),
        };
        let label = json!({"op": "add", "path": path, "value": value});
        Some(Self::of(object, vec![test("/metadata/uid", json!(object.uid)), label]))
    }

    /// To what it was before the rollout. Nothing where the rollout has not moved it. `awaited` is as in
    /// [`Self::forward`], and its entries are recorded by the caller.
    pub(super) fn back(rollout: &Rollout, object: &FleetObject, awaited: Option<&str>) -> Option<Self> {
        let mark = object.mark_of(rollout)?;
        let label = pointer("labels", &rollout.label);
        let mut patch = vec![test("/metadata/uid", json!(object.uid)), test(&label, json!(mark.to))];
        patch.extend(unmark(object));
        patch.push(match &mark.was {
            Some(was) => json!({"op": "replace", "path": label, "value": was}),
            None => json!({"op": "remove", "path": label}),
        });
        patch.extend(unheld(rollout, object, IsTurn::Nobodys));
        patch.extend(object.preconditions_of(awaited));
        Some(Self::of(object, patch))
    }

    /// Takes away what the rollout has left on an object. Nothing where it has left nothing.
    #[must_use]
    pub fn clean(rollout: &Rollout, object: &FleetObject) -> Option<Self> {
        let left = object.held_text().filter(|text| *text == LET_GO || text.starts_with(RELEASED));
        if object.mark_of(rollout).is_none() && left.is_none() {
            return None;
        }
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        if object.mark_of(rollout).is_some() {
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

/// Takes the annotation away, if it is the one that was read.
fn unmark(object: &FleetObject) -> Vec<Value> {
    let path = pointer("annotations", ANNOTATION);
    vec![test(&path, json!(object.noted.text())), json!({"op": "remove", "path": path})]
}

/// Whose turn a write is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum IsTurn {
    /// It is the move of an object, at the turn that its rollout holds it for.
    Its,
    /// It goes another way.
    Nobodys,
}

/// What a write of the label does to the hold, whoever's it is: with one that stays, /mutate would put the label back.
fn unheld(rollout: &Rollout, object: &FleetObject, turn: IsTurn) -> Vec<Value> {
    match object.hold() {
        Some((text, mark)) if turn == IsTurn::Its && mark.rollout == rollout.uid => removed(HELD, text).into(),
        Some((text, _)) => released(rollout, text).into(),
        // One that came meanwhile would keep the label as it is.
        None if object.has_annotations => vec![test(&pointer("annotations", HELD), json!(object.held_text()))],
        None => Vec::new(),
    }
}

/// Says in the place of a hold that this rollout lets go.
fn released(rollout: &Rollout, text: &str) -> [Value; 2] {
    let path = pointer("annotations", HELD);
    let let_go = json!({"op": "replace", "path": path, "value": format!("{RELEASED} {}", rollout.uid)});
    [test(&path, json!(text)), let_go]
}

/// Takes an annotation away, if it says what was read.
fn removed(key: &str, text: &str) -> [Value; 2] {
    let path = pointer("annotations", key);
    [test(&path, json!(text)), json!({"op": "remove", "path": path})]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At whatever depth the patch writes it.
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
