//! What stands on an object where a rollout notes what it has done: a mark, nothing, or somebody's own text, which no
//! rollout writes over.

use super::fleet_rollout::Rollout;
use super::rollout_annotation::{ANNOTATION, RolloutAnnotation};
use crate::apimachinery::excerpt;
use crate::definition::ROLLOUT_MANAGER;

/// What stands there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum AnnotationContent {
    #[default]
    Nothing,
    /// A text without a character: nobody loses it.
    Empty,
    /// What a rollout has left, whichever rollout, and its text.
    Mark(Box<(RolloutAnnotation, String)>),
    /// Somebody's own text. It may be large, and only its beginning is kept.
    Foreign(String),
}

impl AnnotationContent {
    pub(super) fn read(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some("") => Self::Empty,
            Some(text) => match RolloutAnnotation::read(text) {
                Some(mark) => Self::Mark(Box::new((mark, text.to_owned()))),
                None => Self::Foreign(excerpt(text)),
            },
        }
    }

    /// What a rollout has left, whichever rollout.
    pub(super) fn mark(&self) -> Option<&RolloutAnnotation> {
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

    /// Why a rollout writes nothing there, and what makes room; nothing where it may.
    pub(super) fn refuses(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Foreign(text) = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is {text:?}, which no rollout has written, and no rollout writes over it. Where nobody \
             needs it: {}",
            takes_off(rollout, namespace, name)
        ))
    }

    /// That somebody has emptied it, so that nobody knows what stood there, and what to do; nothing where nobody has.
    pub(super) fn is_emptied(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Empty = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is \"\", and may have been the mark of its move, by which it would be taken back. Take it \
             back by hand, where it is to go, and then: {}",
            takes_off(rollout, namespace, name)
        ))
    }
}

/// What takes off whatever stands there.
fn takes_off(rollout: &Rollout, namespace: Option<&str>, name: &str) -> String {
    let place = namespace.map(|namespace| format!(" --namespace={namespace}")).unwrap_or_default();
    let resource = rollout.resource();
    format!("kubectl annotate --field-manager={ROLLOUT_MANAGER}{place} {resource} {name} {ANNOTATION}-")
}
