//! The field managers of an object, and which of them wrote after the move.
//!
//! `metadata.managedFields` has one entry per manager, operation, subresource and API version. The API server updates
//! the time of an entry at each write that changes a value. A no-op write, or a write of another manager that takes a
//! field over, leaves the time. So an entry that is new, or has another time, is a write of its manager. Times have
//! seconds: a comparison of times cannot order events within one second. A comparison with the entries recorded at the
//! move can.
//!
//! Source: `apimachinery pkg/util/managedfields/internal/managedfieldsupdater.go`, `Update` and `Apply`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json_patch::{MANAGED_FIELDS, test};
use super::managed_fields::{ROLLOUT_MANAGER, entries, owns, text};
use super::moment::wall;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
