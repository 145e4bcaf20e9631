//! The values that a write adds to kept annotations: conversion shows them in another version.

use super::findings::Findings;
use super::subject::OpenedWrite;
use crate::apimachinery::{FieldError, Reason};
use crate::webhook::convert::{AddedValue, added_values};

/// Refuses values that their version does not allow, and values of a status that is written apart: a write of the
/// object has no right to these. Stored values stay: bounds may have become tighter since.
pub(super) fn kept_entries(opened: &OpenedWrite<'_, '_>) -> Findings {
    let mut found = Findings::default();
    let status_apart = opened.kind.version_at(opened.at).status_apart;
    for AddedValue { annotation, version, path, is_allowed } in
        added_values(opened.kind, &opened.new, opened.old.as_ref())
    {
        let is_of_status = status_apart && (path == "status" || path.starts_with("status."));
        let detail = match (is_of_status, is_allowed) {
            (true, _) => format!("adds a value of {path}, which only a write of the status may change"),
            (false, false) => format!("adds a value of {path} that {version} does not allow"),
            (false, true) => continue,
        };
        let detail = format!("{detail}: leave the annotation as it is, or write the object at {version}");
        let path = format!("metadata.annotations[{annotation}]");
        found.errors.push(FieldError { path, reason: Reason::Forbidden, value: None, detail });
    }
    found
}
