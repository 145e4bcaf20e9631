//! Labels and annotations of two objects, one of which was made of the other. Both have the same then; what somebody
//! changes of the one that goes later is carried to the one that stays, before it goes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::annotations::SHARED;
use super::object_write::ObjectCall;
use super::step_outcome::{ObjectStepInput, StepOutcome};
use super::observed_object::{annotation, text};
use crate::definition::{ROLLOUT_MANAGER, StepDirection};
use crate::rollout::json_patch::{pointer, test};
use crate::rollout::managed_fields::{latest, writers};
use crate::rollout::shared_metadata::{PLACES, SharedMetadata, members};

/// What both had in common when one was made of the other, by what these say. `target` is the one of the kind that
/// comes.
fn shared(step: ObjectStepInput<'_>, target: &Value) -> Option<SharedMetadata> {
    let again = step.traveller.object.mark_of(step.traveller.rollout).and_then(|mark| mark.again.as_ref());
    let again = again.filter(|again| again.target == text(target, "/metadata/uid"));
    let again = again.and_then(|again| again.shared.clone());
    again.or_else(|| serde_json::from_str(annotation(target, SHARED)?).ok())
}

/// The patch by which the one that stays gets what somebody has changed of the one that goes: what an object has become
/// stays where its step is done, and the object itself where that is undone. Nothing where it has all of it.
pub(super) fn carried(step: ObjectStepInput<'_>, goes: &Value, stays: &Value, way: StepDirection) -> Option<StepOutcome> {
    let pair = step.pair()?;
    let (kind, target) = match way {
        StepDirection::Done => (&pair.target, stays),
        StepDirection::Undone => (&pair.source, goes),
    };
    let shared = shared(step, target);
    let mut changes = Vec::new();
    for place in PLACES {
        let [old, new] = [goes, stays].map(|object| members(object, place));
        let names = [old, new].into_iter().flatten().flat_map(Map::keys).filter(|name| pair.shares(name));
        let names: BTreeSet<&String> = names.collect();
        changes.extend(names.into_iter().filter_map(|name| {
            let member = (place, name.as_str());
            let [goes_with, stays_with] = [old, new].map(|members| members?.get(name)?.as_str());
            let is_to_go = || match &shared {
                // Nobody knows who has changed what: nothing of the one that stays is written over.
                None => stays_with.is_none(),
                Some(shared) => is_carried(member, (goes, goes_with), (stays, stays_with), shared),
            };
            (goes_with != stays_with && is_to_go()).then_some((member, stays_with, goes_with))
        }));
    }
    if changes.is_empty() {
        return None;
    }
    let patch = ObjectCall::Patch(patch(stays, &changes));
    Some(step.next(&kind.resource, Some(kind.version()), text(stays, "/metadata/name"), patch))
}

/// Whether the one that stays gets a label or annotation as the one that goes has it, where the two differ.
fn is_carried(
    member: (&str, &str),
    (goes, goes_with): (&Value, Option<&str>),
    (stays, stays_with): (&Value, Option<&str>),
    shared: &SharedMetadata,
) -> bool {
    let is_old = shared.is(member, stays_with);
    // What was carried before is of the one that goes, and nobody's change of the one that stays.
    if !is_old && is_of_rollout(stays, member) {
        return true;
    }
    // Of what the rollout has carried, whoever writes that object once more moves the time.
    let is_later = || !is_of_rollout(goes, member) && written_last(goes, member) > written_last(stays, member);
    !shared.is(member, goes_with) && (is_old || is_later())
}

/// Whether a label or annotation was written by whoever runs rollouts, and by nobody since.
fn is_of_rollout(object: &Value, (place, name): (&str, &str)) -> bool {
    let mut writers = writers(object, place, format!("f:{name}")).peekable();
    writers.peek().is_some() && writers.all(|entry| text(entry, "/manager") == ROLLOUT_MANAGER)
}

/// When a label or annotation was written last, as far as API servers tell.
fn written_last<'v>(object: &'v Value, (place, name): (&str, &str)) -> Option<&'v str> {
    latest(writers(object, place, format!("f:{name}")))
}

/// A label or annotation by place and name, and its value before and after.
type MetadataChange<'v> = ((&'v str, &'v str), Option<&'v str>, Option<&'v str>);

/// A JSON Patch whose tests name what was seen.
fn patch(object: &Value, changes: &[MetadataChange<'_>]) -> Value {
    let mut patch = vec![test("/metadata/uid", json!(text(object, "/metadata/uid")))];
    for place in PLACES {
        let is_here = changes.iter().any(|((of, _), ..)| *of == place);
        if is_here && members(object, place).is_none() {
            let path = format!("/metadata/{place}");
            patch.extend([test(&path, Value::Null), json!({"op": "add", "path": path, "value": {}})]);
        }
    }
    for ((place, name), before, after) in changes {
        let path = pointer(place, name);
        let change = match after {
            Some(after) => json!({"op": "add", "path": path, "value": after}),
            None => json!({"op": "remove", "path": path}),
        };
        patch.extend([test(&path, json!(before)), change]);
    }
    Value::Array(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was carried is of whoever changed it first: the rollout writes that object once more before the other goes,
    /// and API servers keep one time for all that a manager has written.
    #[test]
    fn carried_metadata_is_no_edit() {
        let member = ("labels", "team");
        let is_carried = |by: &str| {
            let written = |manager: &str, time: &str| {
                let fields = json!({"f:metadata": {"f:labels": {"f:team": {}}}});
                json!({"metadata": {"managedFields": [{"manager": manager, "time": time, "fieldsV1": fields}]}})
            };
            let goes = written(by, "2026-11-20T10:48:31Z");
            let stays = written("kubectl-edit", "2026-11-20T10:48:30Z");
            is_carried(member, (&goes, Some("a")), (&stays, Some("b")), &SharedMetadata::default())
        };
        assert!(is_carried("kubectl-edit"), "the later change counts");
        assert!(!is_carried(ROLLOUT_MANAGER));
    }
}
