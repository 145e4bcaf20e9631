//! The content of the rollout annotation: from a rollout, absent, or another client's text, which no rollout
//! overwrites.

use super::rollout_annotation::{ANNOTATION, RolloutAnnotation};
use crate::spec::rollout::Rollout;
use pointsman_core::apimachinery::excerpt;
use pointsman_core::definition::ROLLOUT_MANAGER;

/// The content.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum AnnotationContent {
    #[default]
    Nothing,
    /// An empty text, which can be overwritten.
    Empty,
    /// From any rollout, with its text.
    Mark(Box<(RolloutAnnotation, String)>),
    /// Text of another client, abridged since it may be large.
    Foreign(String),
}

impl AnnotationContent {
    pub(crate) fn read(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some("") => Self::Empty,
            Some(text) => match RolloutAnnotation::read(text) {
                Some(mark) => Self::Mark(Box::new((mark, text.to_owned()))),
                None => Self::Foreign(excerpt(text)),
            },
        }
    }

    /// The annotation of any rollout.
    pub(crate) fn mark(&self) -> Option<&RolloutAnnotation> {
        match self {
            Self::Mark(mark) => Some(&mark.0),
            Self::Nothing | Self::Empty | Self::Foreign(_) => None,
        }
    }

    /// The precondition of a write. Foreign text gives none, so such a write never applies.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Nothing | Self::Foreign(_) => None,
            Self::Empty => Some(""),
            Self::Mark(mark) => Some(&mark.1),
        }
    }

    /// The reason why a rollout cannot write the annotation, with the remedy; `None` if it can.
    pub(crate) fn refuses(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Foreign(text) = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is {text:?}, which is not written by a rollout, so rollouts leave the \
                 annotation unchanged. To remove the annotation: {}",
            takes_off(rollout, namespace, name)
        ))
    }

    /// The message about an emptied annotation, with the remedy; `None` otherwise.
    pub(crate) fn is_emptied(&self, rollout: &Rollout, namespace: Option<&str>, name: &str) -> Option<String> {
        let Self::Empty = self else { return None };
        Some(format!(
            "annotation {ANNOTATION} is \"\" and may have been the rollout annotation, which an undo needs. \
                 Undo the object by hand if necessary, then: {}",
            takes_off(rollout, namespace, name)
        ))
    }
}

/// The command that removes the annotation.
fn takes_off(rollout: &Rollout, namespace: Option<&str>, name: &str) -> String {
    let place = namespace.map(|namespace| format!(" --namespace={namespace}")).unwrap_or_default();
    let resource = rollout.resource();
    format!("kubectl annotate --field-manager={ROLLOUT_MANAGER}{place} {resource} {name} {ANNOTATION}-")
}
