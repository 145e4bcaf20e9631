//! The override annotation: a reason to hand over an object to another controller version despite a refusal.
//!
//! An object may be stuck under a version that cannot finish, while the conditions forbid a handover to the version
//! that would repair it. A client that sets the annotation in the same write as the label overrides them. The reason
//! and the overridden errors are written to the audit log and counted. The rules of the new version still apply.

use super::write::Write;

/// The annotation. Its value is the reason.
pub(super) const OVERRIDE: &str = "pointsman.dev/hand-over";

/// The reason of a write. An unchanged reason belongs to an earlier write.
pub(super) fn reason(write: &Write<'_>) -> Option<String> {
    let text = write.new.annotation(OVERRIDE)?.as_str()?.trim().to_owned();
    let before = write.old.as_ref().and_then(|old| old.annotation(OVERRIDE));
    let is_new = before.as_ref().and_then(|before| before.as_str()).is_none_or(|before| before.trim() != text);
    (is_new && !text.is_empty()).then_some(text)
}
