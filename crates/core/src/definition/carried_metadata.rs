//! Which labels and annotations an object takes along that becomes one of another kind.

/// Whether one of this name is as true of the other object as of this one. Ours is not, nor is what kubectl applied,
/// nor the hash of what this one says, by the name that it has on objects of its kind.
pub(crate) fn is_taken_along(name: &str, hash: Option<&str>) -> bool {
    let is_hash = hash.is_some_and(|hash| name.strip_prefix(hash).is_some_and(is_hash_suffix));
    !(name == LAST_APPLIED || name.starts_with(OURS) || is_hash)
}

/// What stands behind the name of the annotation for the hash: nothing, or that it is its version.
fn is_hash_suffix(suffix: &str) -> bool {
    matches!(suffix, "" | "-version")
}

/// An annotation of kubectl: what it applied to the object that was. On another kind it would be wrong.
/// Source: `k8s.io/api core/v1/annotation_key_constants.go`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The prefix of our annotations.
const OURS: &str = "pointsman.dev/";
