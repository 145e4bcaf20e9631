//! Holds of a rollout: while an object waits for its turn, other clients cannot change its version label.
//!
//! The hold is an annotation of the object itself. The webhook decides about a write from the object alone and always
//! sees the current hold. So no watch is needed, and two servers cannot disagree.

use serde::{Deserialize, Serialize};

use super::move_effects::MovedMark;
use super::note::read_note;

/// The annotation of an object that a rollout holds.
pub const HELD: &str = "pointsman.dev/hold";

/// The value that an operator sets to release the object.
pub const RELEASE_REQUEST: &str = "";

/// The prefix of the value after a rollout has released the object. The uid of the StagedRollout follows.
pub const RELEASED: &str = "released";

/// The annotation with the version label that another client requested during the hold.
pub const WANTED: &str = "pointsman.dev/wanted-version";

/// The rollout that holds an object, and the start of the hold.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct HoldMark {
    /// The uid of the StagedRollout.
    pub rollout: String,
    /// The name of the StagedRollout, for people.
    pub name: String,
    /// The time by the clock of the writer.
    pub at: String,
}

/// The metadata of an object that affects a hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldMetadata<'a> {
    /// The version label.
    pub(crate) label: Option<&'a str>,
    /// [`HELD`].
    pub(crate) held: Option<&'a str>,
    /// [`WANTED`].
    pub(crate) wanted: Option<&'a str>,
    /// [`super::move_effects::MOVED`].
    pub(crate) moved: Option<&'a str>,
}

/// The changes to a write of a held object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HeldWrite {
    /// The hold annotation, which stays.
    pub(crate) held: String,
    /// The label as it was, if the write would have changed it.
    pub(crate) label: Option<Option<String>>,
    /// The requested version label, if any.
    pub(crate) wanted: Option<String>,
    /// The warning for the client, if the write was changed.
    pub(crate) warning: Option<String>,
}

impl HoldMark {
    /// Parses the annotation. Any other text is ignored and holds no object.
    pub fn read(text: &str) -> Option<Self> {
        read_note(text)
    }
}

/// Returns how to change a write of an object that was held before. `None` if the write is allowed as sent: the object
/// was not held, it is its turn, or the write releases it.
pub(crate) fn held_write(key: &str, old: HeldMetadata<'_>, new: HeldMetadata<'_>) -> Option<HeldWrite> {
    let text = old.held?;
    let mark = HoldMark::read(text)?;
    let is_released = new.held.is_some_and(|text| text == RELEASE_REQUEST || text.starts_with(RELEASED));
    if is_released || is_turn(&mark, old, new) {
        return None;
    }
    let changes = new.label != old.label;
    let wanted = if changes { new.label } else { new.wanted.or(old.wanted) };
    let warning = match (changes, new.label) {
        (true, label) => Some(format!(
            "label {key} stays {}: rollout {} holds this object until its turn{}. To change the label now, set \
                 annotation {HELD} to \"\"",
            old.label.map_or_else(|| "unset".to_owned(), |label| format!("{label:?}")),
            mark.name,
            label.map(|label| format!("; {label:?} is noted in {WANTED}")).unwrap_or_default(),
        )),
        (false, _) if new.held != old.held => Some(format!(
            "annotation {HELD} was restored: rollout {} holds this object; to release the object, set the \
                 annotation to \"\"",
            mark.name
        )),
        (false, _) => None,
    };
    Some(HeldWrite {
        held: text.to_owned(),
        label: changes.then(|| old.label.map(str::to_owned)),
        wanted: wanted.or(old.wanted).map(str::to_owned),
        warning,
    })
}

/// Returns whether a write is the move by the holding rollout. The rollout marks the move in the same write.
fn is_turn(hold: &HoldMark, old: HeldMetadata<'_>, new: HeldMetadata<'_>) -> bool {
    if new.moved == old.moved || new.held.is_some() {
        return false;
    }
    let moved = new.moved.and_then(MovedMark::read);
    moved.is_some_and(|moved| moved.rollout == hold.rollout && Some(moved.to.as_str()) == new.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: &str = r#"{"rollout":"u","name":"r","at":"2026-11-20T10:00:00Z"}"#;

    fn object<'a>(label: Option<&'a str>, held: Option<&'a str>) -> HeldMetadata<'a> {
        HeldMetadata { label, held, wanted: None, moved: None }
    }

    #[test]
    fn unheld_object_is_unchanged() {
        for held in [None, Some(""), Some("released"), Some("{}"), Some("no"), Some("[]"), Some(r#"["u","r","x"]"#)] {
            assert_eq!(held_write("v", object(Some("1"), held), object(Some("2"), held)), None, "{held:?}");
        }
    }

    #[test]
    fn held_label_stays_wish_is_stored() {
        let old = object(Some("1"), Some(HOLD));
        for new in [object(Some("2"), Some(HOLD)), object(Some("2"), None), object(Some("2"), Some("mine"))] {
            let write = held_write("v", old, new).unwrap();
            assert_eq!(write.label, Some(Some("1".to_owned())), "{new:?}");
            assert_eq!((write.wanted.as_deref(), write.held.as_str()), (Some("2"), HOLD), "{new:?}");
            let warning = write.warning.unwrap();
            assert!(warning.contains("label v stays \"1\": rollout r holds this object"), "{warning}");
        }
        let left_out = held_write("v", old, object(None, Some(HOLD))).unwrap();
        assert_eq!((left_out.label, left_out.wanted), (Some(Some("1".to_owned())), None));
        assert!(left_out.warning.unwrap().contains("until its turn. To change the label now"));
        let none = held_write("v", object(None, Some(HOLD)), object(Some("2"), Some(HOLD))).unwrap();
        assert_eq!(none.label, Some(None), "an object without a label has none until its turn");
    }

    #[test]
    fn other_writes_keep_the_wish() {
        let old = HeldMetadata { wanted: Some("2"), ..object(Some("1"), Some(HOLD)) };
        let write = held_write("v", old, object(Some("1"), None)).unwrap();
        assert_eq!((write.label, write.wanted.as_deref()), (None, Some("2")));
        assert!(write.warning.unwrap().contains("was restored"));
        let quiet = held_write("v", old, old).unwrap();
        assert_eq!((quiet.label, quiet.warning), (None, None));
    }

    #[test]
    fn only_holder_moves_the_object() {
        let moves = |rollout: &str, to: &str| format!(r#"{{"rollout":"{rollout}","was":"1","to":"{to}","at":"x"}}"#);
        let old = object(Some("1"), Some(HOLD));
        let is_let = |old, mark: &str, held| {
            held_write("v", old, HeldMetadata { label: Some("2"), held, wanted: None, moved: Some(mark) }).is_none()
        };
        let own = moves("u", "2");
        assert!(is_let(old, &own, None));
        assert!(!is_let(old, &moves("another", "2"), None), "another rollout");
        assert!(!is_let(old, &moves("u", "3"), None), "a move to something else");
        assert!(!is_let(old, &own, Some(HOLD)), "it goes on to hold it");
        assert!(!is_let(HeldMetadata { moved: Some(&own), ..old }, &own, None), "a move of before");
        assert!(!is_let(old, "no mark", None));
    }

    #[test]
    fn release_needs_the_holder() {
        for held in ["", "released u"] {
            assert_eq!(held_write("v", object(Some("1"), Some(HOLD)), object(Some("2"), Some(held))), None, "{held}");
        }
    }
}
