//! Labels and annotations of source and replacement. Both are equal at conversion; later changes on the object that is
//! deleted are copied to the remaining one before the deletion.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::observed_object::{SHARED, annotation, text};
use crate::definition::workflows::StepDirection;
use crate::observe::field_managers::{latest, writers};
use crate::observe::observed_field::{pointer, test};
use crate::observe::rollout_annotation::{PLACES, SharedMetadata, members};
use crate::steps::outcome::{ObjectStepInput, StepOutcome};
use crate::steps::writes::object_write::ObjectCall;
use pointsman_core::definition::ROLLOUT_MANAGER;

/// The metadata shared at conversion, from the annotations of both. `target` is the replacement.
fn shared(step: ObjectStepInput<'_>, target: &Value) -> Option<SharedMetadata> {
    let again = step.context.object.annotation_of(step.context.rollout).and_then(|mark| mark.again.as_ref());
    let again = again.filter(|again| again.target == text(target, "/metadata/uid"));
    let again = again.and_then(|again| again.shared.clone());
    again.or_else(|| serde_json::from_str(annotation(target, SHARED)?).ok())
}

/// The patch that copies changed metadata to the remaining object: the replacement when applying the step, the source
/// when reverting. `None` without changes.
pub(in crate::steps) fn carried(
    step: ObjectStepInput<'_>,
    deleted: &Value,
    stays: &Value,
    way: StepDirection,
) -> Option<StepOutcome> {
    let pair = step.pair()?;
    let (kind, target) = match way {
        StepDirection::Done => (&pair.target, stays),
        StepDirection::Undone => (&pair.source, deleted),
    };
    let shared = shared(step, target);
    let mut changes = Vec::new();
    for place in PLACES {
        let [old, new] = [deleted, stays].map(|object| members(object, place));
        let names = [old, new].into_iter().flatten().flat_map(Map::keys).filter(|name| pair.shares(name));
        let names: BTreeSet<&String> = names.collect();
        changes.extend(names.into_iter().filter_map(|name| {
            let member = (place, name.as_str());
            let [deleted_value, kept_value] = [old, new].map(|members| members?.get(name)?.as_str());
            let is_copied = || match &shared {
                // The origin of changes is unknown: existing values are kept.
                None => kept_value.is_none(),
                Some(shared) => is_carried(member, (deleted, deleted_value), (stays, kept_value), shared),
            };
            (deleted_value != kept_value && is_copied()).then_some((member, kept_value, deleted_value))
        }));
    }
    if changes.is_empty() {
        return None;
    }
    let patch = ObjectCall::Patch(patch(stays, &changes));
    Some(step.next(&kind.resource, Some(kind.version()), text(stays, "/metadata/name"), patch))
}

/// True if the remaining object receives a differing label or annotation from the deleted one.
fn is_carried(
    member: (&str, &str),
    (deleted, deleted_value): (&Value, Option<&str>),
    (stays, kept_value): (&Value, Option<&str>),
    shared: &SharedMetadata,
) -> bool {
    let is_old = shared.is(member, kept_value);
    // A value copied earlier is no change by another client.
    if !is_old && is_of_rollout(stays, member) {
        return true;
    }
    // The rollout's own copies and later writes distort the time.
    let is_later = || !is_of_rollout(deleted, member) && written_last(deleted, member) > written_last(stays, member);
    !shared.is(member, deleted_value) && (is_old || is_later())
}

/// True if a rollout runner wrote the label or annotation last.
fn is_of_rollout(object: &Value, (place, name): (&str, &str)) -> bool {
    let mut writers = writers(object, place, format!("f:{name}")).peekable();
    writers.peek().is_some() && writers.all(|entry| text(entry, "/manager") == ROLLOUT_MANAGER)
}

/// The time of the last write of a label or annotation, as far as known.
fn written_last<'v>(object: &'v Value, (place, name): (&str, &str)) -> Option<&'v str> {
    latest(writers(object, place, format!("f:{name}")))
}

/// A label or annotation by place and name, with values before and after.
type MetadataChange<'v> = ((&'v str, &'v str), Option<&'v str>, Option<&'v str>);

/// A JSON Patch with preconditions on the observed values.
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

    /// A copied value belongs to the client that changed it first: the rollout writes the object again before the
    /// deletion, and API servers keep one time per manager.
    #[test]
    fn carried_metadata_is_no_edit() {
        let member = ("labels", "team");
        let is_carried = |by: &str| {
            let written = |manager: &str, time: &str| {
                let fields = json!({"f:metadata": {"f:labels": {"f:team": {}}}});
                json!({"metadata": {"managedFields": [{"manager": manager, "time": time, "fieldsV1": fields}]}})
            };
            let deleted = written(by, "2026-11-20T10:48:31Z");
            let stays = written("kubectl-edit", "2026-11-20T10:48:30Z");
            is_carried(member, (&deleted, Some("a")), (&stays, Some("b")), &SharedMetadata::default())
        };
        assert!(is_carried("kubectl-edit"), "the later change counts");
        assert!(!is_carried(ROLLOUT_MANAGER));
    }
}
