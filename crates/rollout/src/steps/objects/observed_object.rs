//! Other objects that steps read and write: lookups, observed state, owner references and annotations.

use crate::definition::workflows::{ObjectAction, Recreation, StepObject, WorkflowStep};
use crate::lookup::request::{LookupRequest, PairedKind};
use crate::lookup::results::LookupResults;
use crate::observe::field_managers::{latest, writers};
use crate::observe::moment::wall;
use crate::steps::context::StepContext;
use pointsman_core::definition::MOVED;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The observed state of one object.
#[derive(Clone, Debug)]
pub(in crate::steps) enum ObservedObject<'a> {
    /// Unknown, with the reason.
    Unknown(String),
    Absent,
    /// The object is terminating.
    Terminating(&'a Value),
    There(&'a Value),
}

/// The state of one object.
pub(in crate::steps) fn observed<'a>(answers: &'a LookupResults, lookup: &LookupRequest) -> ObservedObject<'a> {
    match answers.of(&lookup.about) {
        None => ObservedObject::Unknown(format!("{lookup} was not read yet")),
        Some(Err(why)) => ObservedObject::Unknown(format!("{lookup} cannot be read: {why}")),
        Some(Ok(found)) => match &found.whole {
            None => ObservedObject::Absent,
            Some(object) if is_terminating(object) => ObservedObject::Terminating(object),
            Some(object) => ObservedObject::There(object),
        },
    }
}

/// All objects of a list.
///
/// # Errors
/// Unknown, with the reason.
pub(crate) fn list<'a>(answers: &'a LookupResults, lookup: &LookupRequest) -> Result<&'a [Value], String> {
    match answers.of(&lookup.about) {
        None => Err(format!("{lookup} was not read yet")),
        Some(Err(why)) => Err(format!("{lookup} cannot be listed: {why}")),
        Some(Ok(found)) => Ok(&found.all),
    }
}

/// True if the object is terminating.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null())
}

/// The message about a terminating object, with its finalizers.
pub(in crate::steps) fn terminating_message(called: &LookupRequest, object: &Value) -> String {
    let all = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let all: Vec<&str> = all.into_iter().flatten().filter_map(Value::as_str).collect();
    match all.as_slice() {
        [] => format!("{called} is being deleted"),
        all => format!("{called} is being deleted, and {}", held_by_finalizers(&all.join(", "))),
    }
}

/// The message about finalizers that delay a deletion.
pub(crate) fn held_by_finalizers(names: &str) -> String {
    format!("{names} of metadata.finalizers block the deletion: their controllers must act")
}

pub(in crate::steps) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// An annotation of an object.
pub(crate) fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// Lookup of an object named in a step. `None` for an unknown kind.
pub(in crate::steps) fn object_lookup(context: StepContext<'_>, on: &StepObject) -> Option<LookupRequest> {
    let (namespace, name) = (context.object.namespace(), context.object.name());
    let pair = context.rollout.pair.as_deref();
    Some(match on {
        StepObject::Source => pair.map(|pair| LookupRequest::of_paired(&pair.source, namespace, name))?,
        StepObject::Target => pair.map(|pair| LookupRequest::of_paired(&pair.target, namespace, name))?,
        StepObject::Named { resource, name } => {
            LookupRequest::of_object(resource, namespace, &context.filled_text(name))
        }
    })
}

/// Lookup of the replacement.
pub(in crate::steps) fn target_lookup(context: StepContext<'_>) -> Option<LookupRequest> {
    object_lookup(context, &StepObject::Target)
}

/// Lookup of a Deployment to recreate.
pub(in crate::steps) fn deployment_lookup(context: StepContext<'_>, recreation: &Recreation) -> LookupRequest {
    let name = context.filled_text(&recreation.name);
    LookupRequest::of_object(&recreation.resource, context.object.namespace(), &name)
}

/// The new Pod selector.
pub(in crate::steps) fn selector(context: StepContext<'_>, recreation: &Recreation) -> BTreeMap<String, String> {
    filled(context, &recreation.selector)
}

/// The earlier Pod selector, for a restore without saved state. `None` if saved state exists, or the step lacks `was`.
pub(in crate::steps) fn selector_again(
    context: StepContext<'_>,
    recreation: &Recreation,
) -> Option<BTreeMap<String, String>> {
    (context.is_again() && !recreation.was.is_empty()).then(|| filled(context, &recreation.was))
}

fn filled(context: StepContext<'_>, labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    labels.iter().map(|(label, value)| (label.clone(), context.filled_text(value))).collect()
}

/// Deployments that steps recreate.
pub(in crate::steps) fn recreations<'s>(
    steps: impl IntoIterator<Item = &'s WorkflowStep>,
) -> impl Iterator<Item = &'s Recreation> {
    steps.into_iter().filter_map(WorkflowStep::object_step).filter_map(|step| match &step.act {
        ObjectAction::Recreate(recreation) => Some(&**recreation),
        _ => None,
    })
}

/// On a replacement: the uid of its source.
pub(crate) const BECAME: &str = "pointsman.dev/created-from";

/// On a replacement: `metadata.generation` of its source at conversion. Later changes of the source are missing in the
/// replacement.
pub(in crate::steps) const GENERATION: &str = "pointsman.dev/created-from-generation";

/// On a replacement: its own `metadata.generation` when the source was recreated. Later changes of the replacement are
/// missing in the source.
pub(in crate::steps) const RETURNED: &str = "pointsman.dev/returned-generation";

/// `metadata.generation` of a new object. Source: `k8s.io/apiextensions-apiserver
/// pkg/registry/customresource/strategy.go`, `PrepareForCreate`.
pub(in crate::steps) const FIRST_GENERATION: &str = "1";

/// On a replacement: the creating rollout, and the steps to revert on a recreated source.
pub(crate) const MADE_BY: &str = "pointsman.dev/created-by";

/// On a replacement: the labels and annotations copied at conversion, with a hash of each.
pub(in crate::steps) const SHARED: &str = "pointsman.dev/copied-metadata";

/// On a replacement: `metadata.resourceVersion` of its source at the deletion. Its only purpose is a write that
/// invalidates earlier outstanding writes.
pub(in crate::steps) const STAYS: &str = "pointsman.dev/source-resource-version";

/// All annotations of a replacement.
pub(crate) const ON_WHAT_WAS_MADE: [&str; 6] = [BECAME, GENERATION, RETURNED, MADE_BY, SHARED, STAYS];

/// Identifying annotations of a created object. Other annotations are unrelated to rollouts, and admission may change
/// them.
pub(in crate::steps) const KNOWN_BY: [&str; 5] = [BECAME, GENERATION, MADE_BY, SHARED, MOVED];

/// Label on saved objects: the uid of the rollout's object.
pub(in crate::steps) const WORKFLOW_LABEL: &str = "pointsman.dev/workflow";

/// On a recreated Deployment: the uid of the previous one.
pub(in crate::steps) const RECREATED: &str = "pointsman.dev/recreated-from";

/// On a restored Deployment: the uid of the first one. Removed when the restore is complete.
pub(in crate::steps) const RESTORED: &str = "pointsman.dev/restored-from";

/// The index of the owner reference to a uid.
pub(in crate::steps) fn place(object: &Value, uid: &str) -> Option<usize> {
    references(object).position(|reference| text(reference, "/uid") == uid)
}

/// The controller of an object: title and uid.
pub(in crate::steps) fn controller(object: &Value) -> Option<(String, &str)> {
    let reference = references(object).find(|reference| reference.get("controller") == Some(&json!(true)))?;
    Some((format!("{} {}", text(reference, "/kind"), text(reference, "/name")), text(reference, "/uid")))
}

/// A JSON Patch that changes the owner in a reference and keeps the rest of it.
pub(in crate::steps) fn hand_over(object: &Value, from: &str, to: (&PairedKind, &str, &str)) -> Option<Value> {
    let at = place(object, from)?;
    let path = format!("/metadata/ownerReferences/{at}");
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": text(object, "/metadata/uid")}),
        json!({"op": "test", "path": format!("{path}/uid"), "value": from}),
    ];
    let (kind, name, uid) = to;
    if place(object, uid).is_some() {
        patch.push(json!({"op": "remove", "path": path}));
        return Some(Value::Array(patch));
    }
    let mut reference = references(object).nth(at).and_then(Value::as_object).cloned().unwrap_or_default();
    let members: Map<String, Value> = Map::from_iter([
        ("apiVersion".to_owned(), json!(kind.api_version)),
        ("kind".to_owned(), json!(kind.kind)),
        ("name".to_owned(), json!(name)),
        ("uid".to_owned(), json!(uid)),
    ]);
    reference.extend(members);
    patch.push(json!({"op": "replace", "path": path, "value": reference}));
    Some(Value::Array(patch))
}

fn references(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

/// The reason to delay the deletion of the object with this uid. `all` is the metadata of all possible dependents, and
/// `now` the time of the API server in RFC 3339. `None` if all dependents would remain.
#[must_use]
pub fn not_left_behind<'v>(all: impl IntoIterator<Item = &'v Value>, uid: &str, now: &str) -> Option<String> {
    all.into_iter().filter(|one| !is_terminating(one)).find_map(|one| {
        let name = text(one, "/metadata/name");
        let Some((_, by)) = controller(one) else {
            return Some(format!("the ownership of {name} is changing"));
        };
        // Without known age, a dependent counts as new.
        let since = since(one, uid).and_then(wall);
        let age = wall(now).zip(since).map_or(0, |(now, since)| now.saturating_sub(since));
        (by == uid && age < OBSERVED_WITHIN).then(|| {
            format!(
                "{name} got this owner {age} s ago: waiting, because the garbage collector can see the change up to {OBSERVED_WITHIN} s late, and would then delete the object with its Pods"
            )
        })
    })
}

/// The latest possible time since when an object depends on this uid.
fn since<'v>(object: &'v Value, uid: &str) -> Option<&'v str> {
    let written = latest(writers(object, "ownerReferences", format!("k:{{\"uid\":\"{uid}\"}}")));
    written.or_else(|| object.pointer("/metadata/creationTimestamp").and_then(Value::as_str))
}

/// Seconds after which the garbage collector has observed all changes: many times its usual delay.
const OBSERVED_WITHIN: u64 = 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(owner: &str, since: &str) -> Value {
        let key = format!("k:{{\"uid\":\"{owner}\"}}");
        json!({"metadata": {
            "name": "a-1", "creationTimestamp": "2026-11-20T10:00:00Z",
            "ownerReferences": [{"kind": "Deployment", "name": "a", "uid": owner, "controller": true}],
            "managedFields": [
                {"time": "2026-11-20T10:48:39Z", "subresource": "status", "fieldsV1": {"f:status": {}}},
                {"time": since, "fieldsV1": {"f:metadata": {"f:ownerReferences": {".": {}, key: {}}}}},
            ],
        }})
    }

    const NOW: &str = "2026-11-20T10:48:40Z";

    #[test]
    fn old_dependents_are_left_behind() {
        assert_eq!(not_left_behind(&[], "u", NOW), None);
        assert_eq!(not_left_behind(&[set("u", "2026-11-20T10:48:30Z")], "u", NOW), None);
        let why = not_left_behind(&[set("u", "2026-11-20T10:48:31Z")], "u", NOW).unwrap();
        assert!(why.starts_with("a-1 got this owner 9 s ago"), "{why}");
        // Without a time for the reference, the creation time counts.
        let mut plain = set("u", NOW);
        plain["metadata"]["managedFields"] = Value::Null;
        assert_eq!(not_left_behind(&[plain.clone()], "u", NOW), None);
        plain["metadata"]["creationTimestamp"] = json!(NOW);
        assert!(not_left_behind(&[plain.clone()], "u", NOW).is_some());
        plain["metadata"]["creationTimestamp"] = Value::Null;
        assert!(not_left_behind(&[plain], "u", NOW).is_some(), "nobody can tell how old it is");
        assert!(not_left_behind(&[set("u", "2026-11-20T09:00:00Z")], "u", "soon").is_some(), "nor what time it is");
    }

    #[test]
    fn unowned_dependents_are_waited_for() {
        let mut nobodys = set("u", "2026-11-20T09:00:00Z");
        nobodys["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(not_left_behind(&[nobodys.clone()], "u", NOW).unwrap(), "the ownership of a-1 is changing");
        nobodys["metadata"]["deletionTimestamp"] = json!(NOW);
        assert_eq!(not_left_behind(&[nobodys], "u", NOW), None, "it goes anyway");
        assert_eq!(not_left_behind(&[set("other", NOW)], "u", NOW), None);
    }
}
