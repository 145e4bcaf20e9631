//! The rollout annotation: pointsman restores it if another client removes it from an object.
//!
//! The annotation contains the object's previous version and progress, and marks the object as moved. Only the rollout
//! itself removes the annotation. The rollout is identified by its field manager.

use serde::Deserialize;

use super::note::read_note;

/// The annotation of an object that a rollout has moved.
pub const MOVED: &str = "pointsman.dev/rollout";

/// The field manager of a rollout's own writes.
pub const ROLLOUT_MANAGER: &str = "pointsman-rollout";

/// The members of every rollout annotation. There may be more.
#[derive(Deserialize)]
pub(super) struct MovedMark {
    /// The uid of the StagedRollout.
    pub(super) rollout: String,
    /// The version that the object was moved to.
    pub(super) to: String,
}

impl MovedMark {
    /// Parses the annotation. Any other text is ignored.
    pub(super) fn read(text: &str) -> Option<Self> {
        read_note(text)
    }
}

/// Returns the annotation that a write would lose: it was present, is left out, and the writer is no rollout. A changed
/// text is accepted, and a text in another form is not protected.
pub(crate) fn lost_mark<'o>(old: Option<&'o str>, new: Option<&str>, manager: &str) -> Option<&'o str> {
    let is_lost = new.is_none() && manager != ROLLOUT_MANAGER;
    old.filter(|text| is_lost && MovedMark::read(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = r#"{"rollout":"u","was":"1","to":"2","at":"2026-11-20T10:00:00Z","step":{"w":1}}"#;

    #[test]
    fn dropped_mark_counts_as_lost() {
        for manager in ["", "kubectl-replace", "kubectl-edit", "pointsman", "pointsman-rollout-2"] {
            assert_eq!(lost_mark(Some(MARK), None, manager), Some(MARK), "{manager}");
        }
        assert_eq!(lost_mark(Some(MARK), None, ROLLOUT_MANAGER), None);
    }

    #[test]
    fn unrelated_fields_are_ignored() {
        for new in ["", MARK, "{}", "another"] {
            assert_eq!(lost_mark(Some(MARK), Some(new), "kubectl-replace"), None, "{new}");
        }
        for old in [
            None,
            Some(""),
            Some("mine"),
            Some("{}"),
            Some(r#"{"rollout":"u"}"#),
            Some(r#"{"rollout":1,"to":"2"}"#),
            Some(r#"["u","2"]"#),
        ] {
            assert_eq!(lost_mark(old, None, "kubectl-replace"), None, "{old:?}");
        }
    }
}
