//! Labels that people take for the version label.

use super::{findings::Findings, write::Write};
use crate::{apimachinery::FieldError, definition::Kind};

/// What is said to whoever sets one, after the label: the guard says the same.
pub(crate) fn mistaken_label(key: &str) -> String {
    format!("the controller version of an object is in label {key}: set that one")
}

/// Those that a write sets. One that stood there before stays.
pub(super) fn mistaken_labels(kind: &Kind, write: &Write<'_>) -> Findings {
    let mut found = Findings::default();
    for key in &kind.admission.mistaken_labels {
        let Some(value) = write.new.label(key) else {
            continue;
        };
        let before = write.old.as_ref().and_then(|old| old.label(key));
        if before.is_none_or(|before| !before.same(&value)) {
            let why = mistaken_label(&kind.admission.version_label);
            found.errors.push(FieldError::forbidden(format!("metadata.labels[{key}]"), why));
        }
    }
    found
}
