//! Annotations and labels on objects that steps create.

use pointsman_core::definition::MOVED;

/// On a replacement: the uid of its source.
pub(crate) const BECAME: &str = "pointsman.dev/created-from";

/// On a replacement: `metadata.generation` of its source at conversion. Later changes of the source are missing in the
/// replacement.
pub(super) const GENERATION: &str = "pointsman.dev/created-from-generation";

/// On a replacement: its own `metadata.generation` when the source was recreated. Later changes of the replacement are
/// missing in the source.
pub(super) const RETURNED: &str = "pointsman.dev/returned-generation";

/// `metadata.generation` of a new object. Source: `k8s.io/apiextensions-apiserver
/// pkg/registry/customresource/strategy.go`, `PrepareForCreate`.
pub(super) const FIRST_GENERATION: &str = "1";

/// On a replacement: the creating rollout, and the steps to revert on a recreated source.
pub(crate) const MADE_BY: &str = "pointsman.dev/created-by";

/// On a replacement: the labels and annotations copied at conversion, with a hash of each.
pub(super) const SHARED: &str = "pointsman.dev/copied-metadata";

/// On a replacement: `metadata.resourceVersion` of its source at the deletion. Its only purpose is a write that
/// invalidates earlier outstanding writes.
pub(super) const STAYS: &str = "pointsman.dev/source-resource-version";

/// All annotations of a replacement.
pub(crate) const ON_WHAT_WAS_MADE: [&str; 6] = [BECAME, GENERATION, RETURNED, MADE_BY, SHARED, STAYS];

/// Identifying annotations of a created object. Other annotations are unrelated to rollouts, and admission may change
/// them.
pub(super) const KNOWN_BY: [&str; 5] = [BECAME, GENERATION, MADE_BY, SHARED, MOVED];

/// Label on saved objects: the uid of the rollout's object.
pub(super) const WORKFLOW_LABEL: &str = "pointsman.dev/workflow";

/// On a recreated Deployment: the uid of the previous one.
pub(super) const RECREATED: &str = "pointsman.dev/recreated-from";

/// On a restored Deployment: the uid of the first one. Removed when the restore is complete.
pub(super) const RESTORED: &str = "pointsman.dev/restored-from";
