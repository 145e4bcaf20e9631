//! Checks that dependents remain when an object is deleted with orphaned dependents.
//!
//! The garbage collector orphans known dependents only. A dependent it has not observed yet counts as one of a missing
//! owner, and is deleted with its own dependents. Source: `kubernetes
//! pkg/controller/garbagecollector/garbagecollector.go`, `attemptToOrphanWorker`.

use serde_json::Value;

use super::controller_reference::controller;
use super::observed_object::{is_terminating, text};
use crate::observe::managed_fields::{latest, writers};
use crate::observe::moment::wall;

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
