//! The one write by which an object is moved, or taken back.
//!
//! A JSON Patch whose tests name the object and what it was: the API server refuses it (422) where that is not so any
//! more, and takes it although somebody wrote the status in between, which a resourceVersion would not.

use serde_json::{Value, json};

use super::fleet_object::FleetObject;
use super::fleet_roll::FleetRoll;
use super::mark::{ANNOTATION, RollMark};
use super::moment::{Moment, rfc3339};
use crate::definition::{HELD, HoldMark, LET_GO, RELEASED, WANTED};

/// The write of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FleetMove {
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// A JSON Patch (RFC 6902).
    pub patch: Value,
}

impl FleetMove {
    /// To the new version. What it was is written down in the same patch.
    pub(super) fn forward(roll: &FleetRoll, object: &FleetObject, now: Moment) -> Self {
        let mark = RollMark::new((&roll.uid, &roll.to), object.version.clone(), now);
        let label = pointer("labels", &roll.label);
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        match &object.version {
            Some(version) => {
                patch.push(test(&label, json!(version)));
                patch.push(json!({"op": "replace", "path": label, "value": roll.to}));
            }
            None if object.labels.is_empty() => {
                patch.push(test("/metadata/labels", Value::Null));
                patch.push(json!({"op": "add", "path": "/metadata/labels", "value": {&roll.label: roll.to}}));
            }
            None => {
                patch.push(test(&label, Value::Null));
                patch.push(json!({"op": "add", "path": label, "value": roll.to}));
            }
        }
        let text = serde_json::to_string(&mark).unwrap_or_default();
        if object.has_annotations {
            // Who has lost the roll to another runner, which moved the object, must not move it again after somebody
            // turned the label back.
            let path = pointer("annotations", ANNOTATION);
            patch.push(test(&path, json!(object.mark.as_ref().map(|(_, text)| text))));
            patch.push(json!({"op": "add", "path": path, "value": text}));
        } else {
            // Without the test, annotations that came meanwhile would be lost.
            patch.push(test("/metadata/annotations", Value::Null));
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: text}}));
        }
        patch.extend(released(roll, object));
        Self::of(object, patch)
    }

    /// Holds an object until its turn: nobody else changes its label meanwhile.
    pub(super) fn hold(roll: &FleetRoll, object: &FleetObject, now: Moment) -> Self {
        let mark = HoldMark { roll: roll.uid.clone(), name: roll.name.clone(), at: rfc3339(now.wall) };
        let text = serde_json::to_string(&mark).unwrap_or_default();
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        patch.push(match object.labels.is_empty() {
            true => test("/metadata/labels", Value::Null),
            false => test(&pointer("labels", &roll.label), json!(object.version)),
        });
        if object.has_annotations {
            let path = pointer("annotations", HELD);
            patch.push(test(&path, json!(object.held_text())));
            patch.push(json!({"op": "add", "path": path, "value": text}));
        } else {
            patch.push(test("/metadata/annotations", Value::Null));
            patch.push(json!({"op": "add", "path": "/metadata/annotations", "value": {HELD: text}}));
        }
        Self::of(object, patch)
    }

    /// Lets go an object that does not move, by a text that /mutate does not put back. Nothing where the roll does not
    /// hold it.
    pub(super) fn let_go(roll: &FleetRoll, object: &FleetObject) -> Option<Self> {
        let (path, text) = (pointer("annotations", HELD), object.hold_of(roll)?);
        let let_go = json!({"op": "replace", "path": path, "value": format!("{RELEASED} {}", roll.uid)});
        Some(Self::of(object, vec![test("/metadata/uid", json!(object.uid)), test(&path, json!(text)), let_go]))
    }

    /// To what it was before the roll. Nothing where the roll has not moved it.
    pub(super) fn back(roll: &FleetRoll, object: &FleetObject) -> Option<Self> {
        let mark = object.mark_of(roll)?;
        let label = pointer("labels", &roll.label);
        let mut patch = vec![test("/metadata/uid", json!(object.uid)), test(&label, json!(mark.to))];
        patch.extend(unmark(object));
        patch.push(match &mark.was {
            Some(was) => json!({"op": "replace", "path": label, "value": was}),
            None => json!({"op": "remove", "path": label}),
        });
        Some(Self::of(object, patch))
    }

    /// Takes away what the roll has left on an object. Nothing where it has left nothing.
    #[must_use]
    pub fn clean(roll: &FleetRoll, object: &FleetObject) -> Option<Self> {
        let left = object.held_text().filter(|text| *text == LET_GO || text.starts_with(RELEASED));
        if object.mark_of(roll).is_none() && left.is_none() {
            return None;
        }
        let mut patch = vec![test("/metadata/uid", json!(object.uid))];
        if object.mark_of(roll).is_some() {
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
    let text = object.mark.as_ref().map(|(_, text)| text.clone());
    vec![test(&path, json!(text)), json!({"op": "remove", "path": path})]
}

/// What the move of an object takes off it: the hold, and what was wanted, where that is what it gets. Another wish stays
/// to be read.
fn released(roll: &FleetRoll, object: &FleetObject) -> Vec<Value> {
    let held = object.hold_of(roll).map(|text| removed(HELD, text));
    let wanted = object.wanted().filter(|wanted| *wanted == roll.to).map(|wanted| removed(WANTED, wanted));
    [held, wanted].into_iter().flatten().flatten().collect()
}

/// Takes an annotation away, if it says what was read.
fn removed(key: &str, text: &str) -> [Value; 2] {
    let path = pointer("annotations", key);
    [test(&path, json!(text)), json!({"op": "remove", "path": path})]
}

fn test(path: &str, value: Value) -> Value {
    json!({"op": "test", "path": path, "value": value})
}

/// Of a label or an annotation (RFC 6901).
fn pointer(what: &str, key: &str) -> String {
    format!("/metadata/{what}/{}", key.replace('~', "~0").replace('/', "~1"))
}
