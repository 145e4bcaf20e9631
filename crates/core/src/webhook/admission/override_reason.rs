//! The way round what stands between an object and another controller version: an annotation that says why.
//!
//! An object may be stuck under a version that cannot finish what it began, while the version that would repair it may
//! not have it. Whoever writes the annotation in the write that changes the label takes that upon themselves: the
//! reason goes to the audit log with what it passed over, and is counted. It says nothing about the rules of the
//! version that is entered.

use super::write::Write;

/// The annotation. Its value is the reason.
pub(super) const OVERRIDE: &str = "pointsman.dev/hand-over";

/// The reason that a write gives. One that stood there before was for another write.
pub(super) fn reason(write: &Write<'_>) -> Option<String> {
    let text = write.new.annotation(OVERRIDE)?.as_str()?.trim().to_owned();
    let before = write.old.as_ref().and_then(|old| old.annotation(OVERRIDE));
    let is_new = before.as_ref().and_then(|before| before.as_str()).is_none_or(|before| before.trim() != text);
    (is_new && !text.is_empty()).then_some(text)
}
