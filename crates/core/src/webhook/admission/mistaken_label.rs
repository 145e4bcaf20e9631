//! Labels that are often mistaken for the version label.

use super::{findings::Findings, write::Write};
use crate::{apimachinery::FieldError, definition::Kind};

/// The message for a mistaken label, after its key. The guard policy uses the same text.
pub(crate) fn mistaken_label(key: &str) -> String {
    format!("the controller version of an object is in label {key}: set this label instead")
}

/// Rejects mistaken labels that a write sets. Existing labels stay.
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
