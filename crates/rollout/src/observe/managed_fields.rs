//! Evaluates `metadata.managedFields`: the owner of the version label, and recent writers.
//!
//! Source: `apimachinery pkg/apis/meta/v1/types.go`, `ManagedFieldsEntry`.

use serde_json::Value;

use super::moment;
pub use pointsman_core::definition::ROLLOUT_MANAGER;

/// GitOps tools that write by update, and overwrite changes of others.
const GITOPS: [&str; 6] = [
    "argocd-application-controller",
    "argocd-controller",
    "fleetagent",
    "helm",
    "helm-controller",
    "kustomize-controller",
];

/// The owner of a label that would set it again: by server-side apply, or as a GitOps tool.
pub(crate) fn label_owner(object: &Value, label: &str) -> Option<String> {
    let would_again = |entry: &&Value| {
        let manager = text(entry, "manager");
        manager != ROLLOUT_MANAGER && (text(entry, "operation") == "Apply" || GITOPS.contains(&manager))
    };
    let entry = entries(object).filter(would_again).find(|entry| owns(entry, label))?;
    Some(text(entry, "manager").to_owned())
}

/// A GitOps tool that manages an object.
pub(crate) fn git_manager(object: &Value) -> Option<&str> {
    entries(object).map(|entry| text(entry, "manager")).find(|manager| GITOPS.contains(manager))
}

/// The last write of a controller, in seconds since 1970, if more than `seconds` after the move by a rollout or another
/// client. Times are of the API server's clock, with a resolution of seconds: a write in the same second may precede
/// the move.
pub(crate) fn wrote_since(object: &Value, manager: &str, label: &str, seconds: u64) -> Option<u64> {
    let last = |is_one: &dyn Fn(&Value) -> bool| {
        let times = entries(object).filter(|entry| is_one(entry));
        times.filter_map(|entry| moment::wall(text(entry, "time"))).max()
    };
    let is_its = |entry: &Value| text(entry, "manager") == manager;
    let has_moved = |entry: &Value| !is_its(entry) && (text(entry, "manager") == ROLLOUT_MANAGER || owns(entry, label));
    let (moved, wrote) = (last(&has_moved)?, last(&is_its)?);
    (wrote > moved + seconds).then_some(wrote)
}

/// True if an entry owns the label.
pub(crate) fn owns(entry: &Value, label: &str) -> bool {
    let labels = ["fieldsV1", "f:metadata", "f:labels"].iter().try_fold(entry, |fields, name| fields.get(name));
    labels
        .and_then(Value::as_object)
        .is_some_and(|labels| labels.keys().any(|key| key.strip_prefix("f:") == Some(label)))
}

/// The entries that own a metadata member: `place` such as `labels`, and `member` as in `fieldsV1`, such as `f:app`.
pub(crate) fn writers<'v>(object: &'v Value, place: &str, member: String) -> impl Iterator<Item = &'v Value> + use<'v> {
    let place = format!("f:{place}");
    entries(object).filter(move |entry| {
        let path = ["fieldsV1", "f:metadata", &place, &member];
        path.iter().try_fold(*entry, |fields, name| fields.get(name)).is_some()
    })
}

/// The latest time of entries, in RFC 3339.
pub(crate) fn latest<'v>(entries: impl Iterator<Item = &'v Value>) -> Option<&'v str> {
    entries.filter_map(|entry| entry.get("time")?.as_str()).max()
}

/// All entries of an object.
pub(crate) fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    // By name: a JSON pointer would be parsed for each of some ten thousand objects.
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    entries.and_then(Value::as_array).into_iter().flatten()
}

/// A text member of an entry; empty if missing.
pub(crate) fn text<'v>(entry: &'v Value, name: &str) -> &'v str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(entries: &[(&str, &str, &str, bool)]) -> Value {
        let entry = |(manager, operation, time, owns): &(&str, &str, &str, bool)| {
            let labels = if *owns { json!({"f:example.com/v": {}}) } else { json!({}) };
            json!({
                "manager": manager, "operation": operation, "time": format!("2026-11-20T10:00:{time}Z"),
                "fieldsV1": {"f:metadata": {"f:labels": labels}},
            })
        };
        json!({"metadata": {"managedFields": entries.iter().map(entry).collect::<Vec<_>>()}})
    }

    #[test]
    fn label_owner_is_found() {
        for (entries, owner) in [
            (vec![("kustomize-controller", "Apply", "00", true)], Some("kustomize-controller")),
            (vec![("argocd-controller", "Update", "00", true)], Some("argocd-controller")),
            (vec![("kubectl-edit", "Update", "00", true)], None),
            (vec![("kubectl", "Apply", "00", true)], Some("kubectl")),
            (vec![("kubectl", "Apply", "00", false)], None),
            (vec![(ROLLOUT_MANAGER, "Apply", "00", true)], None),
        ] {
            assert_eq!(label_owner(&object(&entries), "example.com/v").as_deref(), owner, "{entries:?}");
        }
    }

    #[test]
    fn only_later_writes_count() {
        let wrote =
            |entries: &[(&str, &str, &str, bool)]| wrote_since(&object(entries), "op", "example.com/v", 0).is_some();
        let moved = (ROLLOUT_MANAGER, "Update", "05", true);
        let by_hand = ("kubectl-label", "Update", "07", true);
        for (time, is_seen) in [("04", false), ("05", false), ("06", true)] {
            assert_eq!(wrote(&[moved, ("op", "Update", time, false)]), is_seen, "{time}");
        }
        assert!(!wrote(&[("op", "Update", "06", false)]), "nobody knows when it was moved");
        assert!(!wrote(&[moved]));
        // A move by hand, without a rollout or after one.
        for before in [vec![], vec![(ROLLOUT_MANAGER, "Update", "05", false)]] {
            for (time, is_seen) in [("06", false), ("07", false), ("08", true)] {
                let entries = [before.clone(), vec![by_hand, ("op", "Update", time, false)]].concat();
                assert_eq!(wrote(&entries), is_seen, "{entries:?}");
            }
        }
        assert!(wrote(&[moved, ("op", "Apply", "06", true)]), "a controller that applies the label as it is");
    }
}
