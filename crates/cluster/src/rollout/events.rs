//! Kubernetes Events, shown by `kubectl describe` for a rollout and for failed objects.

use pointsman_core::definition::Kind;
use pointsman_rollout::{OF_WAVE, RolloutPhase, RolloutStatus, answered_rollout, rfc3339, steps_not_compared};
use serde_json::{Value, json};

use super::clock::RolloutClock;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// Writes Events about changes of a status. Failed writes are ignored, since the status contains everything.
///
/// # Errors
/// Missing permissions for Events.
pub(super) async fn write_events(
    cluster: &Cluster,
    kind: &Kind,
    document: &Value,
    holder: &str,
    clock: RolloutClock,
    status: &RolloutStatus,
) -> Result<(), CallError> {
    let now = clock.now();
    for (at, event) in events(kind, document, status).into_iter().enumerate() {
        let namespace = event.regarding.get("namespace").and_then(Value::as_str).unwrap_or(OF_CLUSTER).to_owned();
        let name = format!("{}.{:x}.{:x}{at:x}", event.name, now.wall, now.steady.as_nanos());
        let body = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name},
            "eventTime": rfc3339(now.wall).replace('Z', ".000000Z"),
            "reportingController": CONTROLLER, "reportingInstance": cut(holder, INSTANCE), "action": "StagedRollout",
            "type": if event.warns { "Warning" } else { "Normal" }, "reason": event.reason,
            "regarding": event.regarding, "note": cut(&event.note, NOTE),
        });
        let written = cluster.post(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"), &body).await;
        if let Some(error) = written.err().filter(CallError::is_of_missing_rights) {
            return Err(error);
        }
    }
    Ok(())
}

/// An Event to write.
struct RolloutNews<'s> {
    /// The name of the object.
    name: &'s str,
    regarding: Value,
    reason: String,
    note: String,
    warns: bool,
}

/// The changes between the document and a status.
fn events<'s>(kind: &Kind, document: &'s Value, status: &'s RolloutStatus) -> Vec<RolloutNews<'s>> {
    let before = RolloutStatus::of(document);
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let name = text("/metadata/name");
    let rollout = || json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "name": name, "uid": text("/metadata/uid")});
    let mut all = Vec::new();
    if let Some(note) = steps_not_compared(&before, status) {
        all.push(RolloutNews { name, regarding: rollout(), reason: "StepsNotCompared".to_owned(), note, warns: true });
    }
    if (before.phase, &before.reason, &before.wave) != (status.phase, &status.reason, &status.wave) {
        let warns = matches!(status.phase, RolloutPhase::Paused | RolloutPhase::Failed | RolloutPhase::Refused);
        let (regarding, reason) = (rollout(), status.reason.clone().unwrap_or_else(|| format!("{:?}", status.phase)));
        all.push(RolloutNews { name, regarding, reason, note: status.message.clone(), warns });
    }
    let is_known = |uid: &str, at: &str| before.failures.iter().any(|known| known.uid == uid && known.at == at);
    let is_object = |uid: &str| !uid.starts_with(OF_WAVE);
    for failure in status.failures.iter().filter(|one| is_object(&one.uid) && !is_known(&one.uid, &one.at)) {
        let (namespace, object) = match failure.object.split_once('/') {
            Some((namespace, object)) => (Some(namespace), object),
            None => (None, failure.object.as_str()),
        };
        let (api_version, of) = object_kind(kind, document);
        let regarding = json!({
            "apiVersion": api_version, "kind": of, "namespace": namespace, "name": object, "uid": failure.uid,
        });
        let note = format!("rollout {name}: {}", failure.message);
        all.push(RolloutNews { name: object, regarding, reason: failure.reason.clone(), note, warns: true });
    }
    all
}

/// The kind of the rollout's objects: of the definition, or its source kind.
fn object_kind(kind: &Kind, document: &Value) -> (String, String) {
    let source = answered_rollout(document, kind).ok().and_then(|rollout| {
        let (api_version, of) = rollout.source_kind()?;
        Some((api_version.to_owned(), of.to_owned()))
    });
    let version = kind.versions().last().unwrap_or_default();
    source.unwrap_or_else(|| (format!("{}/{version}", kind.group()), kind.kind().to_owned()))
}

/// The longest prefix of at most this many bytes, cut between characters.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// The reporting controller: a qualified name.
const CONTROLLER: &str = "pointsman.dev/rollout";
/// The namespace of Events about cluster-scoped objects.
const OF_CLUSTER: &str = "default";
/// Bytes. Source: `kubernetes pkg/apis/core/validation/events.go`, `ReportingInstanceLengthLimit`.
const INSTANCE: usize = 128;
/// Bytes. Same source, `NoteLengthLimit`.
const NOTE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, bytes, cut_to) in [("abc", 5, "abc"), ("abc", 2, "ab"), ("aéb", 2, "a"), ("", 3, "")] {
            assert_eq!(cut(text, bytes), cut_to, "{text}");
        }
    }
}
