//! Field managers of an object, from `metadata.managedFields`: the owner of the version label, and who wrote after the
//! move.

use super::moment::wall;
use super::observed_field::{MANAGED_FIELDS, test};
pub use pointsman_core::definition::ROLLOUT_MANAGER;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The entries of `metadata.managedFields`, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FieldManagers(Box<[ManagerEntry]>);

/// An entry, reduced to the compared members.
#[derive(Clone, Debug, Eq, PartialEq)]
struct ManagerEntry {
    manager: Box<str>,
    is_apply: bool,
    subresource: Box<str>,
    /// Empty if the entry has none, or if the rollout does not compare it.
    time: Box<str>,
    owns_label: bool,
}

/// The entries of one manager at one time.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ManagerRecord {
    /// The name of the field manager.
    manager: String,
    /// Operation, subresource and time of each entry, such as `Update/status 2026-11-20T10:36:38Z`, sorted.
    entries: Vec<String>,
}

impl ManagerRecord {
    /// True if the record is of this manager.
    pub(crate) fn is_of(&self, manager: &str) -> bool {
        self.manager == manager
    }
}

impl FieldManagers {
    /// Reads the entries of an object; `None` without `managedFields`. `is_compared` names the managers whose times
    /// count. Other managers may write every second, and such writes must not make the object appear changed.
    pub(crate) fn of(object: &Value, label: &str, is_compared: impl Fn(&str) -> bool) -> Option<Self> {
        let entry = |entry: &Value| {
            let (manager, owns_label) = (text(entry, "manager"), owns(entry, label));
            let is_compared = owns_label || manager == ROLLOUT_MANAGER || is_compared(manager);
            ManagerEntry {
                manager: manager.into(),
                is_apply: text(entry, "operation") == APPLY,
                subresource: text(entry, "subresource").into(),
                time: if is_compared { text(entry, "time").into() } else { Box::default() },
                owns_label,
            }
        };
        let all: Box<[ManagerEntry]> = entries(object).map(entry).collect();
        (!all.is_empty()).then_some(Self(all))
    }

    fn entries_of(&self, manager: &str) -> impl Iterator<Item = (usize, &ManagerEntry)> {
        self.0.iter().enumerate().filter(move |(_, entry)| *entry.manager == *manager)
    }

    /// The current entries of a manager.
    pub(crate) fn record(&self, manager: &str) -> ManagerRecord {
        let mut entries: Vec<String> = self.entries_of(manager).map(|(_, entry)| entry.shown()).collect();
        entries.sort_unstable();
        ManagerRecord { manager: manager.to_owned(), entries }
    }

    /// True if the manager of a record has written since.
    pub(crate) fn has_written_since(&self, record: &ManagerRecord) -> bool {
        let mut before = record.entries.clone();
        self.entries_of(&record.manager).any(|(_, entry)| {
            let shown = entry.shown();
            match before.iter().position(|known| *known == shown) {
                Some(at) => {
                    before.swap_remove(at);
                    false
                }
                None => true,
            }
        })
    }

    /// True if a manager wrote in a later second than the label was set, by the rollout or by another client. Used when
    /// there is no record of the move.
    pub(crate) fn wrote_after_label(&self, manager: &str) -> bool {
        let sets = |entry: &&ManagerEntry| {
            *entry.manager != *manager && (*entry.manager == *ROLLOUT_MANAGER || entry.owns_label)
        };
        let set = self.0.iter().filter(sets).filter_map(ManagerEntry::wall).max();
        set.is_some_and(|set| self.last_write(manager).is_some_and(|wrote| wrote > set))
    }

    /// True if a rollout owns the label: another client that sets the label becomes its owner.
    pub(crate) fn is_label_of_rollout(&self) -> bool {
        self.0.iter().any(|entry| *entry.manager == *ROLLOUT_MANAGER && entry.owns_label)
    }

    /// The second of the last write of a manager.
    pub(crate) fn last_write(&self, manager: &str) -> Option<u64> {
        self.entries_of(manager).filter_map(|(_, entry)| entry.wall()).max()
    }

    /// Operations of a JSON Patch that fail unless the entries of a manager are unchanged.
    ///
    /// JSON Patch cannot test the length of a list: the patch appends an entry, expects it at the known index, and
    /// removes it. So an additional entry fails the patch as well. Times of other managers are not tested: their writes
    /// do no harm.
    pub(crate) fn preconditions(&self, manager: &str) -> Vec<Value> {
        let place = |at: usize, member: &str| format!("{MANAGED_FIELDS}/{at}/{member}");
        let mut operations: Vec<Value> = Vec::new();
        for (at, entry) in self.0.iter().enumerate() {
            operations.push(test(&place(at, "manager"), json!(entry.manager)));
            if *entry.manager == *manager {
                let of = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
                operations.push(test(&place(at, "operation"), json!(entry.operation())));
                operations.push(test(&place(at, "subresource"), of(&entry.subresource)));
                operations.push(test(&place(at, "time"), of(&entry.time)));
            }
        }
        let (last, end) = (format!("{MANAGED_FIELDS}/{}", self.0.len()), json!({"manager": ROLLOUT_MANAGER}));
        operations.push(json!({"op": "add", "path": format!("{MANAGED_FIELDS}/-"), "value": end}));
        operations.push(test(&last, end));
        operations.push(json!({"op": "remove", "path": last}));
        operations
    }
}

impl ManagerEntry {
    fn operation(&self) -> &'static str {
        if self.is_apply { APPLY } else { "Update" }
    }

    fn shown(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{} {}", self.operation(), self.subresource, self.time)
    }

    fn wall(&self) -> Option<u64> {
        wall(&self.time)
    }
}

const APPLY: &str = "Apply";

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
        times.filter_map(|entry| wall(text(entry, "time"))).max()
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
    use super::*;
    use serde_json::json;

    const LABEL: &str = "example.com/v";

    /// Entries as manager, operation, subresource, second, and label ownership.
    fn managers(entries: &[(&str, &str, &str, &str, bool)]) -> FieldManagers {
        let entry = |(manager, operation, subresource, second, owns): &(&str, &str, &str, &str, bool)| {
            let labels = if *owns { json!({"f:example.com/v": {}}) } else { json!({}) };
            let mut entry = json!({
                "manager": manager, "operation": operation, "time": format!("2026-11-20T10:00:{second}Z"),
                "fieldsV1": {"f:metadata": {"f:labels": labels}},
            });
            if !subresource.is_empty() {
                entry["subresource"] = json!(subresource);
            }
            entry
        };
        let entries: Vec<Value> = entries.iter().map(entry).collect();
        let object = json!({"metadata": {"managedFields": entries}});
        FieldManagers::of(&object, LABEL, |manager| manager == "op").unwrap()
    }

    const MOVED: (&str, &str, &str, &str, bool) = (ROLLOUT_MANAGER, "Update", "", "05", true);

    #[test]
    fn write_within_the_second_counts() {
        let before = managers(&[("op", "Update", "status", "04", false)]).record("op");
        for (entries, has_written) in [
            (vec![("op", "Update", "status", "04", false), MOVED], false),
            (vec![("op", "Update", "status", "05", false), MOVED], true),
            // The clock of this API server is behind that of another one.
            (vec![("op", "Update", "status", "03", false), MOVED], true),
            (vec![("op", "Update", "status", "04", false), ("op", "Update", "", "04", false), MOVED], true),
            (vec![("op", "Update", "status", "04", false), ("op", "Apply", "status", "04", false), MOVED], true),
            // Other managers own all of its fields now.
            (vec![MOVED], false),
            (vec![("op", "Update", "status", "04", false), ("noise", "Update", "status", "06", false), MOVED], false),
        ] {
            assert_eq!(managers(&entries).has_written_since(&before), has_written, "{entries:?}");
        }
    }

    #[test]
    fn first_write_of_a_manager_counts() {
        let before = managers(&[("kubectl", "Update", "", "04", true)]).record("op");
        assert!(managers(&[("op", "Update", "status", "04", false), MOVED]).has_written_since(&before));
        assert!(!managers(&[MOVED]).has_written_since(&before));
    }

    #[test]
    fn manager_entries_compare_pairwise() {
        let twice = [("op", "Update", "status", "04", false); 2];
        let before = managers(&twice).record("op");
        assert!(!managers(&twice).has_written_since(&before));
        assert!(!managers(&twice[..1]).has_written_since(&before), "both were merged");
        let entries = [("op", "Update", "status", "04", false), ("op", "Update", "status", "05", false)];
        assert!(managers(&entries).has_written_since(&before));
    }

    #[test]
    fn missing_record_uses_later_second() {
        for (second, has_written) in [("04", false), ("05", false), ("06", true)] {
            let entries = [MOVED, ("op", "Update", "status", second, false)];
            assert_eq!(managers(&entries).wrote_after_label("op"), has_written, "{second}");
        }
        assert!(!managers(&[("op", "Update", "", "06", false)]).wrote_after_label("op"), "unknown when it was moved");
        let by_hand = ("kubectl-label", "Update", "", "07", true);
        for (second, has_written) in [("06", false), ("07", false), ("08", true)] {
            let entries = [("op", "Update", "", second, false), by_hand];
            assert_eq!(managers(&entries).wrote_after_label("op"), has_written, "{second}");
        }
    }

    #[test]
    fn times_of_others_are_not_compared() {
        let at = |second| managers(&[("noise", "Update", "status", second, false), ("op", "Update", "", "04", false)]);
        assert_eq!(at("05"), at("06"));
    }

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
