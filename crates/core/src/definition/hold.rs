//! Objects that a rollout holds: until their turn comes, nobody else changes their version label.
//!
//! The hold stands on the object itself, so that whoever decides about a write looks at nothing else, and knows it in
//! the moment in which it is so: nothing has to be watched, and no two servers can know different things.

use serde::{Deserialize, Serialize};

use super::move_effects::MovedMark;
use super::note::read_note;

/// The annotation of an object that a rollout holds.
pub(crate) const HELD: &str = "pointsman.dev/hold";

/// What stands there once somebody has let the object go.
pub(crate) const LET_GO: &str = "";

/// What the text there begins with once a rollout has let it go, before the uid of the StagedRollout.
pub(crate) const RELEASED: &str = "released";

/// The annotation with the version label that somebody has asked for meanwhile.
pub(crate) const WANTED: &str = "pointsman.dev/wanted-version";

/// By which rollout an object is held, and since when.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct HoldMark {
    /// The uid of the StagedRollout.
    pub(crate) rollout: String,
    /// Its name, for people.
    pub(crate) name: String,
    /// By the clock of whoever wrote it.
    pub(crate) at: String,
}

/// What of an object decides about a hold.
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

/// What becomes of a write of an object that is held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HeldWrite {
    /// The hold, which stays.
    pub(crate) held: String,
    /// The label, where the write would have changed it: as it was.
    pub(crate) label: Option<Option<String>>,
    /// What is noted as wanted; nothing where nothing is.
    pub(crate) wanted: Option<String>,
    /// What whoever writes is told, where something is not as it was sent.
    pub(crate) warning: Option<String>,
}

impl HoldMark {
    /// Reads the annotation. Anything else is somebody's own text, and holds nothing.
    pub(crate) fn read(text: &str) -> Option<Self> {
        read_note(text)
    }
}

/// What becomes of a write of an object that was held before it; nothing where it may happen as it was sent: it was not
/// held, it is its turn, or somebody lets it go.
pub(crate) fn held_write(key: &str, old: HeldMetadata<'_>, new: HeldMetadata<'_>) -> Option<HeldWrite> {
    let text = old.held?;
    let mark = HoldMark::read(text)?;
    let is_let_go = new.held.is_some_and(|text| text == LET_GO || text.starts_with(RELEASED));
    if is_let_go || is_turn(&mark, old, new) {
        return None;
    }
    let changes = new.label != old.label;
    let wanted = if changes { new.label } else { new.wanted.or(old.wanted) };
    let warning = match (changes, new.label) {
        (true, label) => Some(format!(
            "label {key} stays {}: rollout {} holds this object until its turn{}. To change it now, set annotation {HELD} to \"\"",
            old.label.map_or_else(|| "unset".to_owned(), |label| format!("{label:?}")),
            mark.name,
            label.map(|label| format!("; {label:?} is noted in {WANTED}")).unwrap_or_default(),
        )),
        (false, _) if new.held != old.held => Some(format!(
            "annotation {HELD} was put back: rollout {} holds this object; to let it go, set it to \"\"",
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

/// Whether a write is the one by which the rollout that holds an object moves it: it says so in the same write.
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
        assert!(left_out.warning.unwrap().contains("until its turn. To change it now"));
        let none = held_write("v", object(None, Some(HOLD)), object(Some("2"), Some(HOLD))).unwrap();
        assert_eq!(none.label, Some(None), "an object without a label has none until its turn");
    }

    #[test]
    fn other_writes_keep_the_wish() {
        let old = HeldMetadata { wanted: Some("2"), ..object(Some("1"), Some(HOLD)) };
        let write = held_write("v", old, object(Some("1"), None)).unwrap();
        assert_eq!((write.label, write.wanted.as_deref()), (None, Some("2")));
        assert!(write.warning.unwrap().contains("was put back"));
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
