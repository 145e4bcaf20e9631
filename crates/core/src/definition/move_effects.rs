//! Objects that a rollout has moved: what it has noted on them stays there, whoever writes them without knowing of it.
//!
//! By the note a rollout knows what an object was, how far it is, and that it is not to be moved a second time. Only
//! the rollout itself takes it off; it says who it is by its field manager.

use serde::Deserialize;

use super::note::read_note;

/// The annotation of an object that a rollout has moved.
pub(crate) const MOVED: &str = "pointsman.dev/rollout";

/// The field manager of a rollout's own writes.
pub const ROLLOUT_MANAGER: &str = "pointsman-rollout";

/// What every note says, of which others may have more.
#[derive(Deserialize)]
pub(super) struct MovedMark {
    /// The uid of the StagedRollout.
    pub(super) rollout: String,
    /// The version that the object was moved to.
    pub(super) to: String,
}

impl MovedMark {
    /// Reads the annotation. Anything else is somebody's own text.
    pub(super) fn read(text: &str) -> Option<Self> {
        read_note(text)
    }
}

/// The note that a write would lose: it was there before, is left out, and whoever writes is no rollout. One that is
/// there in another form is somebody's word, and what was no note was nobody's to keep.
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
