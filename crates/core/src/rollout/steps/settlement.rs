//! Whether what belongs to an object stays where that is deleted with it left behind.
//!
//! The garbage collector leaves behind what it knows to belong to an object. What it has not heard of yet, it takes for
//! something that belongs to what is there no more, and deletes it, with all that belongs to that.
//! Source: `kubernetes pkg/controller/garbagecollector/garbagecollector.go`, `attemptToOrphanWorker`.

use serde_json::Value;

use super::controller_reference::controller;
use super::observed_object::{is_going, text};
use crate::rollout::managed_fields::{latest, writers};
use crate::rollout::moment::wall;

/// Why an object of this uid must not be deleted yet with this left behind, which is all that may belong to it: each,
/// as far as its metadata. `now` is what the API server says that it is, in its own words. Nothing where all would
/// stay.
#[must_use]
pub fn not_left_behind<'v>(all: impl IntoIterator<Item = &'v Value>, uid: &str, now: &str) -> Option<String> {
    all.into_iter().filter(|one| !is_going(one)).find_map(|one| {
        let name = text(one, "/metadata/name");
        let Some((_, by)) = controller(one) else {
            return Some(format!("{name} is about to belong to it"));
        };
        // What nobody can tell the age of may have begun just now.
        let since = since(one, uid).and_then(wall);
        let age = wall(now).zip(since).map_or(0, |(now, since)| now.saturating_sub(since));
        (by == uid && age < HEARD).then(|| {
            format!(
                "{name} has belonged to it for {age} s: the garbage collector may hear of that as late as {HEARD} s after, and \
                 would delete it with its Pods"
            )
        })
    })
}

/// Since when an object has belonged to the one of this uid, at the latest.
fn since<'v>(object: &'v Value, uid: &str) -> Option<&'v str> {
    let written = latest(writers(object, "ownerReferences", format!("k:{{\"uid\":\"{uid}\"}}")));
    written.or_else(|| object.pointer("/metadata/creationTimestamp").and_then(Value::as_str))
}

/// Seconds in which the garbage collector has heard of everything: many times what it takes where nothing is wrong.
const HEARD: u64 = 10;

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
        assert!(why.starts_with("a-1 has belonged to it for 9 s"), "{why}");
        // Nobody says since when it belongs to it: it is as old as it is.
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
        assert_eq!(not_left_behind(&[nobodys.clone()], "u", NOW).unwrap(), "a-1 is about to belong to it");
        nobodys["metadata"]["deletionTimestamp"] = json!(NOW);
        assert_eq!(not_left_behind(&[nobodys], "u", NOW), None, "it goes anyway");
        assert_eq!(not_left_behind(&[set("other", NOW)], "u", NOW), None);
    }
}
