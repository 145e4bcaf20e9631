//! Annotations of ours that several commands look at.

use serde_json::Value;

/// What the annotations of objects begin with that keep what only one version can say (`docs/kept-fields.md`).
pub(crate) const KEPT: &str = "pointsman.dev/kept-";

/// On a CRD, by which its guard lets everything through (`crates/core/src/registration/crd_guard.rs`).
pub(crate) const LET_GO: &str = "pointsman.dev/released";

/// On a CRD that is being disabled: where its conversion led before.
pub(crate) const DISABLING: &str = "pointsman.dev/disabling";

/// The versions that something is kept for on an object.
pub(crate) fn kept_versions(object: &Value) -> impl Iterator<Item = &str> {
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations.into_iter().flatten().filter_map(|(name, _)| name.strip_prefix(KEPT))
}
