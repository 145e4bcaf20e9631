//! Checks the values that a write adds to kept annotations, which conversion restores in another version.

use super::findings::Findings;
use super::subject::OpenedWrite;
use crate::apimachinery::{FieldError, Reason};
use crate::webhook::convert::{AddedValue, MistypedValue, added_values, is_of_status, mistyped_values};

/// Rejects values that their version does not allow, and values of a status subresource, which a write of the object
/// must not change. Accepts stored values, because bounds may have become stricter since.
pub(super) fn kept_entries(opened: &OpenedWrite<'_, '_>) -> Findings {
    let mut found = Findings::default();
    let status_apart = opened.kind.version_at(opened.at).status_apart;
    for AddedValue { annotation, version, path, is_allowed } in
        added_values(opened.kind, &opened.new, opened.old.as_ref())
    {
        let detail = match (status_apart && is_of_status(&path), is_allowed) {
            (true, _) => format!(
                "adds a value of {path}, which only a write of the status may change: leave the annotation \
                     unchanged, or write the status at {version}"
            ),
            (false, false) => format!(
                "adds a value of {path} that {version} does not allow: leave the annotation unchanged, or write \
                     the object at {version}"
            ),
            (false, true) => continue,
        };
        let path = format!("metadata.annotations[{annotation}]");
        found.errors.push(FieldError { path, reason: Reason::Forbidden, value: None, detail });
    }
    // Accepts a write that leaves such a value unchanged, so that migrations and finalizers are not blocked.
    for MistypedValue { annotation, version, path } in mistyped_values(opened.kind, &opened.new) {
        let place = format!("metadata.annotations[{annotation}]");
        if !found.errors.iter().any(|error| error.path == place) {
            found.warnings.push(format!(
                "{place} has a value of {path} of another type than in {version}: {version} shows the object \
                     without this value"
            ));
        }
    }
    found
}
