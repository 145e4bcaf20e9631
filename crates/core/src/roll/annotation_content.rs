//! What stands on an object where a roll notes what it has done: a mark, nothing, or somebody's own text, which no roll
//! writes over.

use super::fleet_roll::FleetRoll;
use super::mark::{ANNOTATION, RollMark};
use crate::apimachinery::excerpt;
use crate::definition::ROLL_MANAGER;

/// What stands there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Noted {
    #[default]
    Nothing,
    /// A text without a character: nobody loses it.
    Empty,
    /// What a roll has left, whichever roll, and its text.
    Mark(Box<(RollMark, String)>),
    /// Somebody's own text. It may be large, and only its beginning is kept.
    Foreign(String),
}

impl Noted {
    pub(super) fn read(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some("") => Self::Empty,
            Some(text) => match RollMark::read(text) {
                Some(mark) => Self::Mark(Box::new((mark, text.to_owned()))),
                None => Self::Foreign(excerpt(text)),
            },
        }
    }

    /// What a roll has left, whichever roll.
    pub(super) fn mark(&self) -> Option<&RollMark> {
        match self {
            Self::Mark(mark) => Some(&mark.0),
            Self::Nothing | Self::Empty | Self::Foreign(_) => None,
        }
    }

    /// What a write of it has to find there. Of somebody's own text that is nothing: such a write lands on none.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing | Self::Foreign(_) => None,
            Self::Empty => Some(""),
            Self::Mark(mark) => Some(&mark.1),
        }
    }

    /// Why a roll writes nothing there, and what makes room; nothing where it may.
    pub(super) fn refuses(&self, roll: &FleetRoll, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Foreign(text) = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is {text:?}, which no roll has written, and no roll writes over it. Where nobody \
             needs it: {}",
            takes_off(roll, namespace, name)
        ))
    }

    /// That somebody has emptied it, so that nobody knows what stood there, and what to do; nothing where nobody has.
    pub(super) fn is_emptied(&self, roll: &FleetRoll, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Empty = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is \"\", and may have been the mark of its move, by which it would be taken back. Take it \
             back by hand, where it is to go, and then: {}",
            takes_off(roll, namespace, name)
        ))
    }
}

/// What takes off whatever stands there.
fn takes_off(roll: &FleetRoll, namespace: Option<&str>, name: &str) -> String {
    let place = namespace.map(|namespace| format!(" --namespace={namespace}")).unwrap_or_default();
    let resource = roll.resource();
    format!("kubectl annotate --field-manager={ROLL_MANAGER}{place} {resource} {name} {ANNOTATION}-")
}
