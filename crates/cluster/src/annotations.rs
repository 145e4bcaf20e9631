//! Annotations of pointsman that several commands use.

use serde_json::Value;

/// Prefix of kept annotations, with values that only one version can represent (`docs/kept-fields.md`).
pub(crate) const KEPT: &str = "pointsman.dev/kept-";

/// On a CRD: disables its guard (`crates/core/src/registration/guards/crd_guard.rs`).
pub(crate) const RELEASED_ANNOTATION: &str = "pointsman.dev/released";

/// On a CRD that is being disabled: its earlier conversion.
pub(crate) const DISABLING: &str = "pointsman.dev/disabling";

/// The versions with kept annotations on an object.
pub(crate) fn kept_versions(object: &Value) -> impl Iterator<Item = &str> {
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations.into_iter().flatten().filter_map(|(name, _)| name.strip_prefix(KEPT))
}
