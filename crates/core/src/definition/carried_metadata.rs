//! The labels and annotations that are copied when an object is replaced by an object of another kind.

/// Returns whether a label or annotation of this name also applies to the replacement object. Excludes pointsman's own
/// names, kubectl's last-applied annotation, and the rollout hash of the source object.
pub fn is_taken_along(name: &str, hash: Option<&str>) -> bool {
    let is_hash = hash.is_some_and(|hash| name.strip_prefix(hash).is_some_and(is_hash_suffix));
    !(name == LAST_APPLIED || name.starts_with(OURS) || is_hash)
}

/// True for the suffixes of the hash annotation: none, or `-version`.
fn is_hash_suffix(suffix: &str) -> bool {
    matches!(suffix, "" | "-version")
}

/// kubectl's annotation with the applied manifest. It would be wrong on an object of another kind. Source: `k8s.io/api
/// core/v1/annotation_key_constants.go`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The prefix of pointsman's annotations and labels.
pub(super) const OURS: &str = "pointsman.dev/";
